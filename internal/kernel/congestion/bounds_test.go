package congestion

import (
	"testing"
)

func (b *Bounder) must(t *testing.T, s Scope, lower, upper uint32) {
	t.Helper()
	var err error
	if lower == 0 && upper == 0 {
		err = b.Clear(s)
	} else {
		err = b.Set(s, Bounds{Lower: lower, Upper: upper})
	}
	if err != nil {
		t.Fatal(err)
	}
}
