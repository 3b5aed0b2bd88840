package summary

import (
	"fmt"
	"math"
	"strings"

	"airtide/internal/diagnose"
	"airtide/internal/tcp"
	"airtide/internal/units"
)

// ChangeText is a change for people. An unknown value is "-".
type ChangeText struct{ Name, A, B, Change string }

// String prints "A > B change".
func (c ChangeText) String() string {
	return strings.TrimRight(fmt.Sprintf("%s > %s %5s", c.A, c.B, c.Change), " ")
}

// Text lists all changes.
func (c *Changes) Text() []ChangeText {
	bytes := metric
	ms := func(us float64) string { return milliseconds(int64(us)) }
	return []ChangeText{
		c.DurationS.text("time", durationText),
		c.AckedBytes.text("acked bytes", bytes),
		c.ReceivedBytes.text("received bytes", bytes),
		c.AckedRateBps.text("acked bit/s", metric),
		c.ReceiveRateBps.text("received bit/s", metric),
		c.RttMedianUs.text("rtt median ms", ms),
		c.RttP99Us.text("rtt p99 ms", ms),
		c.MinRttUs.text("kernel's minimum rtt ms", ms),
		c.CwndMedianPackets.text("cwnd median packets", whole),
		c.InFlightPackets.text("in flight median packets", whole),
		c.LostPackets.text("marked lost packets", whole),
		c.RetransmitsPackets.text("retransmitted packets", whole),
		c.RetransmittedPct.text("retransmitted of delivered", percent),
		c.LocalCongestion.text("local congestion", whole),
		c.DupAck.text("duplicate ACK or SACK", whole),
		c.Timeout.text("timeouts", whole),
	}
}

func percent(pct float64) string { return units.Percent(pct / 100) }

func whole(v float64) string { return fmt.Sprintf("%.0f", v) }

func (c Change) text(name string, format func(float64) string) ChangeText {
	return ChangeText{name, show(c.A, format), show(c.B, format), c.pctText()}
}

// pctText prints a change with its sign. A change to ten times and more is a factor.
func (c Change) pctText() string {
	switch {
	case c.Pct == nil:
		return ""
	case *c.Pct >= 900:
		return fmt.Sprintf("x%.0f", *c.Pct/100+1)
	case math.Abs(*c.Pct) < 0.5:
		return "0%"
	}
	return fmt.Sprintf("%+.0f%%", *c.Pct)
}

// PairText is a pair of flows for people. Texts of both flows stand as "A > B".
type PairText struct {
	Flows, Process, Role, Peer, CongestionControl   string
	AckedRate, ReceiveRate, Rtt, P99, Cwnd, Retrans string
	LimitedBy                                       string
}

// Text describes a pair.
func (p *Pair) Text() PairText {
	c := p.Changes
	flow := p.A
	if flow == nil {
		flow = p.B
	}
	if c == nil {
		c = changes(p.figures(p.A), p.figures(p.B))
	}
	peer := tcp.Endpoint(flow.Remote)
	if p.Role.Server {
		peer = fmt.Sprintf("at port %d", p.Role.Port)
	}
	both := func(text func(*Flow) string) string { return show(p.A, deref(text)) + " > " + show(p.B, deref(text)) }
	ms := func(us float64) string { return milliseconds(int64(us)) }
	return PairText{
		Flows:   both(func(f *Flow) string { return fmt.Sprint(f.ID) }),
		Process: orAbsent(units.Printable(p.Role.Process)), Role: p.Role.Direction, Peer: peer,
		CongestionControl: both((*Flow).controls),
		AckedRate:         c.AckedRateBps.text("", metric).String(),
		ReceiveRate:       c.ReceiveRateBps.text("", metric).String(),
		Rtt:               c.RttMedianUs.text("", ms).String(),
		P99:               c.RttP99Us.text("", ms).String(),
		Cwnd:              c.CwndMedianPackets.text("", whole).String(),
		Retrans:           c.RetransmitsPackets.text("", whole).String(),
		LimitedBy:         both(func(f *Flow) string { return diagnose.SharesText(f.Limits, 1) }),
	}
}

// figures of a flow that one recording lacks are all unknown.
func (p *Pair) figures(f *Flow) *Figures {
	if f == nil {
		return &Figures{}
	}
	return &f.Figures
}

func deref[T any](f func(*T) string) func(T) string { return func(v T) string { return f(&v) } }
