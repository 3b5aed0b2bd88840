package summary

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"airtide/internal/tcp"
)

// session is a scene with a control connection and transfers at rates in kB/s. Its local ports
// begin at port.
func session(t *testing.T, port uint16, cc string, controlFirst bool, rates ...int64) *Report {
	t.Helper()
	s := newScene(t, Options{})
	id := tcp.FlowID(0)
	open := func() {
		id++
		s.open(id, func(f *tcp.Flow) {
			f.Local = netip.AddrPortFrom(netip.MustParseAddr("10.0.0.1"), port+uint16(id))
			f.Remote = netip.MustParseAddrPort("10.0.0.2:5201")
			f.CongestionControl = cc
		})
	}
	control := func() {
		open()
		s.sample(id, t0+100*ms, values{tcp.AckedBytes: 500, tcp.ReceivedBytes: 400, tcp.CwndPackets: 10})
	}
	if controlFirst {
		control()
	}
	for _, rate := range rates {
		open()
		for i := range int64(20) {
			s.sample(id, t0+(i+1)*100*ms,
				values{tcp.AckedBytes: (i + 1) * rate * 100, tcp.CwndPackets: rate, tcp.RttUs: 8000})
		}
	}
	if !controlFirst {
		control()
	}
	r := s.Report()
	return &r
}

func TestFlowsOfEqualRolesAreCompared(t *testing.T) {
	a := session(t, 40000, "cubic", true, 1000, 2000)
	b := session(t, 50000, "bbr", false, 1500, 1000)
	b.Sort(Order{Key: "cwnd_packets", Reverse: true}) // the order of display changes no pair
	pairs := slices.Collect(Compare(a.list(), b.list()).Pairs())
	var got []string
	for _, p := range pairs {
		got = append(got, p.Role.Direction+" "+p.Text().Flows)
	}
	want := []string{"control 1 > 3", "sender 2 > 1", "sender 3 > 2"}
	if !slices.Equal(got, want) {
		t.Fatalf("the pairs are %q, want %q", got, want)
	}
	near(t, "the first transfer's change", *pairs[1].Changes.AckedRateBps.Pct, 50, 0.001)
	near(t, "the second transfer's change", -*pairs[2].Changes.AckedRateBps.Pct, 50, 0.001)
	near(t, "the change of the total", -*ChangesOf(&a.Totals, &b.Totals).AckedRateBps.Pct, 16.66, 0.01)
	text := pairs[1].Text()
	for _, cell := range []struct{ got, want string }{
		{text.AckedRate, "8.00M > 12.0M  +50%"},
		{text.CongestionControl, "cubic > bbr"},
		{text.Retrans, "- > -"},
		{text.Peer, "10.0.0.2:5201"},
	} {
		if cell.got != cell.want {
			t.Errorf("a cell is %q, want %q", cell.got, cell.want)
		}
	}
}

func TestAFlowWithoutPartnerStandsAlone(t *testing.T) {
	a := session(t, 40000, "cubic", true, 1000)
	b := session(t, 40000, "cubic", true, 1000, 3000)
	c := Compare(a.list(), b.list())
	pairs := slices.Collect(c.Pairs())
	last := pairs[len(pairs)-1]
	if len(pairs) != 3 || c.Len() != 3 || last.A != nil || last.B == nil || last.Changes != nil {
		t.Fatalf("%d pairs, the last is %+v", len(pairs), last)
	}
	if text := last.Text(); text.Flows != "- > 3" || !strings.HasPrefix(text.AckedRate, "- > 24.0M") {
		t.Errorf("it is shown as %+v", text)
	}
}

func TestRolesMatchWithoutPeerOrProcess(t *testing.T) {
	a := session(t, 40000, "cubic", true, 1000)
	b := session(t, 40000, "cubic", true, 1000)
	for i := range b.Flows {
		b.Flows[i].Remote = netip.MustParseAddrPort("192.0.2.9:5201")
		b.Flows[i].Comm = "other"
	}
	for p := range Compare(a.list(), b.list()).Pairs() {
		if p.A == nil || p.B == nil || p.A.ID != p.B.ID {
			t.Errorf("the pair %s", p.Text().Flows)
		}
	}
}

func TestFlowsAreSortedByEveryKey(t *testing.T) {
	r := session(t, 40000, "cubic", true, 1000, 3000, 2000)
	for _, key := range SortKeys() {
		for _, spelled := range []string{key, "-" + key, tcp.PlainName(key)} {
			o, err := ParseOrder(spelled)
			if err != nil {
				t.Fatal(err)
			}
			r.Sort(o)
		}
	}
	order := func(spelled string) (ids []tcp.FlowID) {
		o, err := ParseOrder(spelled)
		if err != nil {
			t.Fatal(err)
		}
		r.Sort(o)
		for _, f := range r.Flows {
			ids = append(ids, f.ID)
		}
		return ids
	}
	for _, c := range []struct {
		key  string
		want []tcp.FlowID
	}{
		{"flow", []tcp.FlowID{1, 2, 3, 4}},
		{"-flow", []tcp.FlowID{4, 3, 2, 1}},
		{"cwnd", []tcp.FlowID{3, 4, 2, 1}},
		{"-cwnd_packets", []tcp.FlowID{1, 2, 4, 3}},
		{"local", []tcp.FlowID{1, 2, 3, 4}},
		{"rate", []tcp.FlowID{3, 4, 2, 1}},
	} {
		if got := order(c.key); !slices.Equal(got, c.want) {
			t.Errorf("by %s the flows are %v, want %v", c.key, got, c.want)
		}
	}
	// A flow without a round-trip time comes last in both directions.
	for _, key := range []string{"rtt", "-rtt"} {
		if got := order(key); got[3] != 1 {
			t.Errorf("by %s the flows are %v", key, got)
		}
	}
	if _, err := ParseOrder("beauty"); err == nil {
		t.Error("an unknown key is accepted")
	}
}
