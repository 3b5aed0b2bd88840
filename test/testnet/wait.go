package testnet

import (
	"testing"
	"time"
)

// pause is the time between two looks at a condition.
const pause = 2 * time.Millisecond

// Await waits until the condition holds, at most for the limit, and reports whether it holds.
func Await(limit time.Duration, condition func() bool) bool {
	for deadline := time.Now().Add(limit); !condition(); time.Sleep(pause) {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// Eventually waits until the condition holds and fails the test when it does not within the limit.
func Eventually(tb testing.TB, limit time.Duration, what string, condition func() bool) {
	tb.Helper()
	if !Await(limit, condition) {
		tb.Fatalf("waited %s in vain: %s", limit, what)
	}
}

// Still waits until a state has not changed for the time d, and returns it. It is for kernel timers
// that show no event: a busy machine delays their effect, and the wait with it. The test fails when
// the state still changes after a minute.
func Still[State comparable](tb testing.TB, d time.Duration, what string, state func() State) State {
	tb.Helper()
	last := state()
	since := time.Now()
	still := Await(time.Minute, func() bool {
		if now := state(); now != last {
			last = now
			since = time.Now()
		}
		return time.Since(since) >= d
	})
	if !still {
		tb.Fatalf("%s changes all the time", what)
	}
	return last
}

// Idle lets the time d pass. It is for tests whose subject is time itself, which the reason names.
func Idle(tb testing.TB, d time.Duration, reason string) {
	tb.Helper()
	tb.Logf("%s: %s", d, reason)
	time.Sleep(d)
}

// Lateness waits until the condition holds, at most for the limit. It returns the sum of the delays
// that a busy machine added, and whether the condition holds. A delay is the time by which a pause
// is too long, if that is above usual.
func Lateness(limit, usual time.Duration, condition func() bool) (late time.Duration, holds bool) {
	looked := time.Now()
	holds = Await(limit, func() bool {
		if delay := time.Since(looked) - pause; delay > usual {
			late += delay
		}
		holds := condition()
		looked = time.Now()
		return holds
	})
	return late, holds
}

// Settle waits until the network is still: nothing is held back and for the time d no host has sent
// or received a segment. The kernel delays ACKs for up to 40 ms.
func (n *Network) Settle(d time.Duration) {
	n.tb.Helper()
	type moved struct {
		in, out uint64 // packets that the client's device carried
		held    int64
		seen    [2]Counts // segments that the far ends took
	}
	Still(n.tb, d, "the traffic", func() (m moved) {
		link, err := n.Client.links.LinkByName(device)
		if err != nil {
			n.tb.Fatalf("asking for the packets of %s: %v", n.Client.Name, err)
		}
		m.in = link.Attrs().Statistics.RxPackets
		m.out = link.Attrs().Statistics.TxPackets
		for i, h := range []*Host{n.Client, n.Server} {
			m.seen[i] = h.Out.Counts()
			if h.Out.waiting() > 0 {
				m.held = time.Now().UnixNano() // differs at each look
			}
		}
		return m
	})
}
