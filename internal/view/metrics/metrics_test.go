package metrics

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"airtide/internal/diagnose"
	"airtide/internal/sys/metrics"
	"airtide/internal/tcp"
	"airtide/test/collector"
)

func flowTo(id tcp.FlowID, comm, remote string) *tcp.Flow {
	return &tcp.Flow{
		ID: id, Comm: comm, PID: uint32(id), FirstNs: 1e9,
		Local:  netip.MustParseAddrPort("10.0.0.1:1000"),
		Remote: netip.MustParseAddrPort(remote),
	}
}

// row is a sample of an open connection.
func row(id tcp.FlowID, at time.Duration, fields map[tcp.Field]int64) *tcp.Sample {
	s := &tcp.Sample{TimeNs: int64(time.Second + at), Flow: id}
	for f := range tcp.NumStored {
		s.Values[f] = tcp.Absent
	}
	s.Values[tcp.StateField] = int64(tcp.StateEstablished)
	for f, v := range fields {
		s.Values[f] = v
	}
	return s
}

func feed(t *testing.T, o *Observer, samples ...*tcp.Sample) {
	t.Helper()
	b := tcp.NewBatch(len(samples))
	for _, s := range samples {
		b.Append(s)
	}
	if err := o.Samples(b); err != nil {
		t.Fatal(err)
	}
}

func happen(t *testing.T, o *Observer, events ...tcp.Event) {
	t.Helper()
	for i := range events {
		if err := o.Event(&events[i]); err != nil {
			t.Fatal(err)
		}
	}
}

// scrape reads the metrics as Prometheus does.
func scrape(t *testing.T, o *Observer) collector.Values {
	t.Helper()
	o.judging.Wait()
	s, err := metrics.Serve("127.0.0.1:0", o.Set())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	status, text := collector.Scrape(t, s.Address().String())
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, text)
	}
	return collector.Parse(t, text)
}

func wantValues(t *testing.T, got collector.Values, want collector.Values) {
	t.Helper()
	for name, value := range want {
		if v, ok := got[name]; !ok || v != value {
			t.Errorf("%s is %g (%t), want %g", name, v, ok, value)
		}
	}
	if t.Failed() {
		t.Logf("all: %v", got)
	}
}

func TestConnectionsAreSummedUpByProcessAndNetwork(t *testing.T) {
	o := New(diagnose.PerAck)
	inherited := flowTo(3, "curl", "192.0.2.9:443")
	inherited.Inherited = true
	for _, f := range []*tcp.Flow{
		flowTo(1, "curl", "192.0.2.7:443"), flowTo(2, "curl", "[::ffff:192.0.2.8]:80"), inherited,
		flowTo(4, "evil\x1b[31m", "[2001:db8:1:2::3]:443"),
	} {
		if err := o.Flow(f); err != nil {
			t.Fatal(err)
		}
	}
	happen(t, o,
		tcp.Event{Kind: tcp.EventOpen, Flow: 1, From: uint8(tcp.StateSynSent), To: uint8(tcp.StateEstablished)},
		tcp.Event{Kind: tcp.EventOpen, Flow: 3, From: uint8(tcp.StateEstablished), To: uint8(tcp.StateEstablished)},
		tcp.Event{Kind: tcp.EventRetransmit, Flow: 1, Cause: tcp.CauseFast, Value: 2},
		tcp.Event{Kind: tcp.EventRetransmit, Flow: 1, Cause: tcp.CauseTLP, Value: 1},
		tcp.Event{Kind: tcp.EventRetransmit, Flow: 2, Cause: tcp.CauseRTO, Value: 1},
		tcp.Event{Kind: tcp.EventRetransmit, Flow: 2, Cause: tcp.CauseSYN, Value: 1},
		tcp.Event{Kind: tcp.EventZeroWindow, Flow: 2},
	)
	fields := func(acked, received, retransmitted, dups int64) map[tcp.Field]int64 {
		return map[tcp.Field]int64{
			tcp.AckedBytes: acked, tcp.ReceivedBytes: received, tcp.RetransmitsPackets: retransmitted,
			tcp.DSackDups: dups, tcp.RttUs: 20_000, tcp.MinRttUs: 10_000,
		}
	}
	feed(t, o, row(1, 0, fields(1000, 10, 3, 1)), row(2, 0, fields(500, 0, 2, 0)), row(3, 0, fields(7000, 7, 9, 4)))
	feed(t, o, row(1, time.Second, fields(3000, 20, 5, 1)), row(3, time.Second, fields(7100, 7, 9, 4)))
	const (
		curl      = `peer="192.0.2.0/24",process="curl"`
		direction = `network_io_direction=`
		kind      = `network_tcp_retransmit_type=`
		event     = `network_tcp_flow_control_event="zero_window",`
	)
	wantValues(t, scrape(t, o), collector.Values{
		`airtide_tcp_connections{` + curl + `}`:                                            3,
		`airtide_tcp_opened_total{` + curl + `}`:                                           1,
		`airtide_tcp_io_bytes_total{` + direction + `"transmit",` + curl + `}`:             3600,
		`airtide_tcp_io_bytes_total{` + direction + `"receive",` + curl + `}`:              20,
		`system_network_tcp_retransmits_total{` + kind + `"fast",` + curl + `}`:            2,
		`system_network_tcp_retransmits_total{` + kind + `"tail_loss_probe",` + curl + `}`: 1,
		`system_network_tcp_retransmits_total{` + kind + `"timeout",` + curl + `}`:         2,
		`system_network_tcp_retransmits_total{` + kind + `"spurious",` + curl + `}`:        1,
		`system_network_tcp_retransmits_total{` + kind + `"_OTHER",` + curl + `}`:          2,
		`system_network_tcp_flow_control_events_total{` + event + curl + `}`:               1,
		`airtide_tcp_rtt_seconds{` + curl + `,quantile="0.95"}`:                            0.02,
		`airtide_tcp_min_rtt_seconds{` + curl + `}`:                                        0.01,
		`airtide_tcp_connections{peer="2001:db8:1::/48",process="evil?[31m"}`:              1,
	})
	happen(t, o, tcp.Event{Kind: tcp.EventClose, Flow: 1, Reason: tcp.ReasonLocalFIN, TimeNs: int64(2 * time.Second)},
		tcp.Event{Kind: tcp.EventClose, Flow: 2, Reason: tcp.ReasonStillOpen})
	feed(t, o, row(1, time.Second, fields(3001, 20, 5, 1))) // samples may come after their flow's end
	wantValues(t, scrape(t, o), collector.Values{
		`airtide_tcp_connections{` + curl + `}`:                                2,
		`airtide_tcp_closed_total{` + curl + `,reason="local_fin"}`:            1,
		`airtide_tcp_io_bytes_total{` + direction + `"transmit",` + curl + `}`: 3601,
	})
}

// Time without samples counts when the next one comes, so all time of a connection has a limit.
func TestLimitsSumUpToTheTimeOfTheConnections(t *testing.T) {
	o := New(diagnose.PerAck)
	if err := o.Flow(flowTo(1, "curl", "192.0.2.7:443")); err != nil {
		t.Fatal(err)
	}
	busy := func(at time.Duration) *tcp.Sample {
		sent := int64(at / time.Microsecond)
		return row(1, at, map[tcp.Field]int64{
			tcp.AckedBytes: sent, tcp.SentBytes: sent, tcp.WrittenBytes: sent, tcp.SegmentBytes: 0, tcp.MSSBytes: 1448,
			tcp.CwndPackets: 10, tcp.InFlightPackets: 0, tcp.RttUs: 20_000, tcp.SrttUs: 20_000,
			tcp.SendWindowBytes: 1 << 20, tcp.BusyUs: 0, tcp.RwndLimitedUs: 0, tcp.SndbufLimitedUs: 0,
			tcp.CAStateField: 0, tcp.DeliveredPackets: sent / 1448,
		})
	}
	var last time.Duration
	for at := time.Duration(0); at <= 41*time.Second; at += 50 * time.Millisecond {
		if at > 12*time.Second && at < 25*time.Second {
			continue // silent for longer than a window
		}
		feed(t, o, busy(at))
		last = at
	}
	var sum float64
	got := scrape(t, o)
	for _, limit := range []string{"application", "idle", "unknown", "round trips"} {
		sum += got[fmt.Sprintf(`airtide_tcp_limited_seconds_total{limit=%q,peer="192.0.2.0/24",process="curl"}`, limit)]
	}
	if whole := last.Seconds(); sum < whole-window.Seconds() || sum > whole {
		t.Errorf("limits of %g s, want those of all %g s but the last window: %v", sum, whole, got)
	}
}

// The number of label values has a bound. Groups without connections make room.
func TestLabelsAreBounded(t *testing.T) {
	o := New(diagnose.PerAck)
	groups := func() int {
		n := 0
		for name := range scrape(t, o) {
			if strings.HasPrefix(name, "airtide_tcp_connections{") {
				n++
			}
		}
		return n
	}
	for i := range tcp.FlowID(3 * maxGroups) {
		if err := o.Flow(flowTo(i+1, fmt.Sprint("process", i), "192.0.2.7:443")); err != nil {
			t.Fatal(err)
		}
	}
	got := scrape(t, o)
	if n := groups(); n != maxGroups+1 {
		t.Errorf("%d groups, want %d", n, maxGroups+1)
	}
	wantValues(t, got, collector.Values{`airtide_tcp_connections{peer="other",process="other"}`: 2 * maxGroups})
	for i := range tcp.FlowID(3 * maxGroups) {
		happen(t, o, tcp.Event{Kind: tcp.EventClose, Flow: i + 1, Reason: tcp.ReasonLocalFIN, TimeNs: 1e9})
	}
	if err := o.Flow(flowTo(10_000, "new", "192.0.2.7:443")); err != nil {
		t.Fatal(err)
	}
	if n := groups(); n != 1 {
		t.Errorf("%d groups, want the new one only", n)
	}
}
