//go:build kernel && long

package bpf

import (
	"testing"
	"time"

	"airtide/test/testnet"
)

// received counts what a recording holds of all flows.
func received(r *recording) (n int) {
	for id := range r.flows {
		n += len(r.samples[id]) + len(r.events[id])
	}
	return n
}

// A ring buffer that nobody drains loses records, and says how many.
func TestLostRecordsAreCounted(t *testing.T) {
	n := newNetwork(t, 0)
	everything := observeNetwork(t, n, Options{})
	stalled := observeNetwork(t, n, Options{BufferBytes: 64 << 10, Drain: time.Hour})
	client, server := n.Connect(testnet.Dial{CongestionControl: "cubic"})
	n.Client.Out.DropEvery(150)
	send(t, client, server, 2000*mss)
	quiet(t, client, server)
	everything.stop()
	stalled.check(func(t *testing.T, r *recording) {
		var all int
		for _, whole := range everything.recordings {
			if whole.form == r.form {
				all = received(whole)
				if lost := whole.loss.Total(); lost != 0 {
					t.Fatalf("the large buffer lost %d records", lost)
				}
			}
		}
		lost := int(r.loss.Total())
		if lost == 0 || len(r.loss.PerCPU) == 0 {
			t.Fatalf("nothing lost of %d records with a buffer of 64 KiB: %+v", all, r.loss)
		}
		if got := received(r) + lost; got != all {
			t.Errorf("%d delivered and %d lost make %d, there were %d", received(r), lost, got, all)
		}
		if r.loss.Orphans != 0 {
			t.Errorf("%d records of unknown flows", r.loss.Orphans)
		}
	})
}
