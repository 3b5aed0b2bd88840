//go:build kernel

package share

import (
	"sync/atomic"
	"testing"

	"airtide/internal/share/cellkey"
	"airtide/internal/share/control"
	"airtide/test/testnet"
)

// The key is rotated at one terminal after the other while a transfer runs. Its bound is never
// lifted.
func TestARotationLiftsNoBound(t *testing.T) {
	n, client, _ := narrow(t)
	old := cellkey.New()
	fresh := cellkey.New()
	type keys = atomic.Pointer[cellkey.Pair]
	var of [2]keys
	begin := func(i int, h *testnet.Host, policy control.Policy) *running {
		of[i].Store(&cellkey.Pair{New: old})
		return run(t, h, Config{
			Key: old, Keys: func() cellkey.Pair { return *of[i].Load() }, Policy: policy, MaxBps: lowRate,
		})
	}
	a := begin(0, n.Client, control.Shares)
	b := begin(1, n.Server, control.Observe)
	testnet.Eventually(t, longEnough, "a bound", func() bool { return bound(a.now()) })
	from := a.lifts()
	acked := testnet.Info(t, client).Bytes_acked
	for _, p := range []cellkey.Pair{{New: fresh, Old: old}, {New: fresh}} {
		for i := range of {
			of[i].Store(&p)
			more := [2]int{20 + a.now().Datagrams["accepted"], 20 + b.now().Datagrams["accepted"]}
			testnet.Eventually(t, longEnough, "twenty reports of each", func() bool {
				return a.now().Datagrams["accepted"] >= more[0] && b.now().Datagrams["accepted"] >= more[1]
			})
		}
	}
	if s := a.now(); s.Cell != fresh.Tag().String() || !bound(s) {
		t.Errorf("afterwards: cell %s, want %s; bounded %t (%s)", s.Cell, fresh.Tag(), s.Bounded, s.Reason)
	}
	if lifts := a.lifts() - from; lifts > 0 {
		t.Errorf("bounds were lifted in %d steps", lifts)
	}
	if testnet.Info(t, client).Bytes_acked == acked {
		t.Error("the transfer stood still")
	}
}
