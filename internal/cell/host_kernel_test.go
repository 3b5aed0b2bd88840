//go:build kernel

package cell

import (
	"context"
	"testing"

	"airtide/test/need"
)

// start starts a cell that ends with the test.
func start(tb testing.TB, c Config) *Cell {
	tb.Helper()
	need.Root(tb)
	started, err := Start(context.Background(), c)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := started.Stop(); err != nil {
			tb.Error(err)
		}
	})
	for _, w := range started.Warnings() {
		tb.Log(w)
	}
	return started
}
