//go:build kernel

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airtide/test/need"
)

func TestLiveOutputFitsTheTerminal(t *testing.T) {
	need.Root(t)
	port := fmt.Sprint(littleTraffic(t))
	cell, _ := startCell(t)
	defer func() {
		_ = cell.Process.Signal(os.Interrupt)
		_ = cell.Wait()
	}()
	for _, columns := range terminalWidths {
		for want, args := range map[string][]string{
			"PEER": {"monitor", "--once", "--port", port, "--interval", "300ms"},
			"lost": {
				"record", "--port", port, "--duration", "1500ms", "-o",
				filepath.Join(t.TempDir(), "a.atr"),
			},
			"wire up": {"cell", "status", "--once", "--interval", "200ms", fmt.Sprint(cell.Process.Pid)},
		} {
			shown, status := onTerminal(t, columns, nil, args...)
			if status != 0 || !strings.Contains(shown, want) {
				t.Errorf("airtide %s on %d columns: status %d:\n%s", strings.Join(args, " "), columns, status, shown)
			}
			wantFitting(t, shown, columns, args)
		}
	}
}
