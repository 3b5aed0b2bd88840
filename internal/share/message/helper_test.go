package message

import (
	"math/rand/v2"
	"net/netip"
	"testing"

	"airtide/internal/share/cellkey"
)

const ms, second = int64(1e6), int64(1e9)

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

// plausible returns a report with random values within the limits.
func plausible(r *rand.Rand) Report {
	rate := func() Rate { return Rate(r.Uint64N(uint64(HighestRate) + 1)) }
	rtt := func() uint32 { return uint32(r.Uint64N(LongestRTTUs + 1)) }
	p := Report{
		PeriodMs: LowestPeriodMs + uint32(r.Uint64N(HighestPeriodMs-LowestPeriodMs+1)),
		State:    State(r.Uint64N(uint64(Leaving))), PHYKbps: rate(), DeliveryKbps: rate(), DemandKbps: rate(),
		ApplicationLimited: r.Uint64()%2 == 0, ForeignQueues: r.Uint64()%2 == 0, SingleFrames: r.Uint64()%2 == 0,
		BothFamilies: r.Uint64()%2 == 0, BSS: r.Uint32(),
		UploadKbps: rate(), DownloadKbps: rate(), BoundKbps: rate(),
		Weight:   LowestWeight + uint16(r.Uint64N(HighestWeight-LowestWeight+1)),
		MinRTTUs: rtt(), SmoothedRTTUs: rtt(), RTT95Us: rtt(),
		QueuedBytes: uint32(r.Uint64N(MostQueuedBytes + 1)), FlowsUp: uint16(r.Uint64()), FlowsDown: uint16(r.Uint64()),
		Counts: Counts{r.Uint32(), [4]uint32{r.Uint32(), r.Uint32(), r.Uint32(), r.Uint32()}},
	}
	p.Probe = probeOf(uint16(r.Uint64()))
	if r.Uint64()%4 != 0 {
		p.MaxKbps = max(1, rate())
		p.MaxSource = PHY + Source(r.Uint64N(2))
	}
	return p
}

func address(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}), 0)
}

// agent is a terminal's Receiver and Sender with its address.
type agent struct {
	*Receiver
	*Sender
	at   netip.AddrPort
	says Report
}

func newAgent(k cellkey.Key, i int, nowNs int64) *agent {
	return newAgentWith(k, rand.NewPCG(uint64(i), uint64(nowNs)), i, nowNs)
}

func newAgentWith(k cellkey.Key, random rand.Source, i int, nowNs int64) *agent {
	r := NewReceiver(Config{Key: k, Random: random}, nowNs)
	return &agent{
		Receiver: r, Sender: NewSender(r, nowNs), at: address(i),
		says: Report{State: Controlling, Weight: 1000, FlowsUp: uint16(i)},
	}
}

func (a *agent) send(t testing.TB, nowNs int64) []byte {
	t.Helper()
	d, err := a.Seal(nil, a.says, nowNs)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// tell sends a report of a to b and returns the result of b.
func tell(t testing.TB, a, b *agent, nowNs int64) Reason {
	t.Helper()
	_, reason := b.Receive(a.at, a.send(t, nowNs), nowNs)
	return reason
}

// acquaint lets two agents confirm each other.
func acquaint(t testing.TB, a, b *agent, nowNs int64) {
	t.Helper()
	tell(t, a, b, nowNs)
	tell(t, b, a, nowNs)
	if reason := tell(t, a, b, nowNs); reason != Accepted {
		t.Fatalf("the second report: %v", reason)
	}
	if reason := tell(t, b, a, nowNs); reason != Accepted {
		t.Fatalf("the answer: %v", reason)
	}
}

func want(t testing.TB, what string, got, want Reason) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}
