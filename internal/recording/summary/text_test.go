package summary

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"airtide/internal/diagnose"
	"airtide/internal/tcp"
)

// transfer is a scene with all that a flow can have.
func transfer(t *testing.T, flows int) *scene {
	s := newScene(t, Options{})
	for id := tcp.FlowID(1); int(id) <= flows; id++ {
		s.open(id, nil)
		for i := int64(1); i <= 20; i++ {
			n := i * int64(id) * 10_000
			s.sample(id, t0+i*100*ms, values{
				tcp.AckedBytes: n, tcp.ReceivedBytes: i, tcp.RttUs: 12_000, tcp.SrttUs: 13_000, tcp.MinRttUs: 11_000,
				tcp.CwndPackets: 40, tcp.InFlightPackets: 38, tcp.CAStateField: 0, tcp.DeliveredPackets: i * 100,
				tcp.LostPackets: 2, tcp.RetransmitsPackets: 2, tcp.RetransmittedBytes: 2896,
			})
		}
		s.event(tcp.Event{TimeNs: t0 + sec, Flow: id, Kind: tcp.EventTimeout, Code: tcp.CodeTimeout})
		s.event(tcp.Event{TimeNs: t0 + sec, Flow: id, Kind: tcp.EventRetransmit, Cause: tcp.CauseRTO})
	}
	if err := s.Lost(&tcp.Loss{PerCPU: []uint64{0, 5}, Untracked: 1}); err != nil {
		t.Fatal(err)
	}
	return s
}

// explained adds the same limits to each flow.
func explained(r Report) Report {
	var found diagnose.Report
	for i := range r.Flows {
		found.Connections = append(found.Connections, diagnose.Connection{
			Flow: r.Flows[i].Flow, Direction: "sends", AckedBytes: 1,
			Shares: []diagnose.Share{
				{Limit: diagnose.Pacing, Share: 0.75}, {Limit: diagnose.SendBuffer, Share: 0.25},
			},
		})
	}
	r.Explain(&found)
	return r
}

// text is the totals, and the table with a tab between two cells.
func text(t *testing.T, r Report, o TextOptions) string {
	t.Helper()
	var out bytes.Buffer
	if err := r.WriteTotals(&out, o); err != nil {
		t.Fatal(err)
	}
	flows, others := r.First(Order{})
	if len(flows) == 0 {
		return out.String()
	}
	var titles []string
	for _, c := range Columns() {
		titles = append(titles, c.Title)
	}
	out.WriteString("\n" + strings.Join(titles, "\t") + "\n")
	for _, f := range flows {
		var cells []string
		for _, c := range Columns() {
			cells = append(cells, c.Cell(f))
		}
		out.WriteString(strings.Join(cells, "\t") + "\n")
	}
	if others != "" {
		out.WriteString(others + "\n")
	}
	return out.String()
}

func contains(t *testing.T, text string, wants ...string) {
	t.Helper()
	for _, want := range wants {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

func TestTableShowsEachFlow(t *testing.T) {
	got := text(t, explained(transfer(t, 2).Report()), TextOptions{})
	contains(t, got,
		"flows          2 (2 open, 0 closed), 2.0s, 40 samples, 4 events\n",
		"lost records   5 (per CPU 1: 5; 0 of flows that are not known, 0 never made), 1 flow not followed\n",
		"FLOW\tPROCESS\tLOCAL\tREMOTE\tCC\tTIME\tACKED B\tRECV B\tACKED bit/s\tRECV bit/s\t"+
			"RTT ms\tp99\tCWND\tRETRANS\tREORD\tLCONG\tDUPACK\tRTO\tLIMITED BY\tEND\n",
		"2\tiperf3 42\t10.0.0.1:5201\t10.0.0.2:40000\tcubic\t2.0s\t400k\t20\t1.60M\t80\t"+
			"12.0\t12.0\t40\t2 0.1%\t0\t0\t0\t1\tpacing 75%\tstill_open\n",
	)
	if strings.Index(got, "\n2\t") > strings.Index(got, "\n1\t") {
		t.Error("the flow with more bytes does not come first")
	}
}

func TestManyFlowsShowTheGreatest(t *testing.T) {
	const flows = 10_000
	s := newScene(t, Options{})
	for id := tcp.FlowID(1); id <= flows; id++ {
		s.open(id, nil)
		s.sample(id, t0+sec, values{tcp.AckedBytes: int64(id) * 1000, tcp.RttUs: 100, tcp.CwndPackets: 10})
	}
	report := s.Report()
	if len(report.Flows) != flows {
		t.Fatalf("the report has %d flows, want %d", len(report.Flows), flows)
	}
	got := text(t, report, TextOptions{})
	_, table, _ := strings.Cut(got, "\n\n")
	if n := strings.Count(table, "\n"); n != 1+TopFlows+1 {
		t.Errorf("the table has %d lines, want a title, %d flows and a remark", n, TopFlows)
	}
	contains(t, table, "\n10000\t", "\n9981\t", fmt.Sprintf("and %d more flows", flows-TopFlows))
	if strings.Contains(table, "\n9980\t") {
		t.Error("the 21st flow is shown")
	}
}

func TestDetailsOfOneFlow(t *testing.T) {
	report := explained(transfer(t, 2).Report())
	var out bytes.Buffer
	if err := report.WriteFlow(&out, 2, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	contains(t, out.String(),
		"flow 2  10.0.0.1:5201 > 10.0.0.2:40000\n",
		"process        iperf3 42\n", "cgroup         -\n",
		"life           2.0s, seen from its opening; end: still_open\n",
		"acked          400k bytes, 1.60M bit/s over 2.0s, peak 1.60M bit/s\n",
		"rtt            min 12.0, median 12.0, p95 12.0, p99 12.0, max 12.0 ms\n",
		"srtt           min 13.0, median 13.0, max 13.0 ms; kernel's minimum 11.0\n",
		"cwnd           min 40, median 40, max 40 packets\n",
		"retransmitted  2 packets, 2.90k bytes, 0.1% of 2000 delivered; 2 marked lost\n",
		"  by cause     timeout 1, without an event 1\n",
		"errors         reordering 0, local congestion 0, duplicate ACK/SACK 0, timeout 1\n",
		"ca_state       open 100%\n", "limited by     pacing 75%, send buffer 25%\n",
	)
	err := report.WriteFlow(&out, 9, TextOptions{})
	if err == nil || !strings.Contains(err.Error(), "no flow 9: choose one from 1 to 2") {
		t.Errorf("got %v, want to be told which flows there are", err)
	}
}

func TestTextOfNothing(t *testing.T) {
	got := text(t, New(Options{}).Report(), TextOptions{})
	contains(t, got, "flows          none: nothing was observed\n", "lost records   -\n")
	if strings.Contains(got, "FLOW") || strings.Contains(got, "rtt") {
		t.Error("a table of no flows")
	}
}

func TestColourOnlyOnDemand(t *testing.T) {
	report := transfer(t, 1).Report()
	if strings.Contains(text(t, report, TextOptions{}), "\x1b") {
		t.Error("colour without demand")
	}
	contains(t, text(t, report, TextOptions{Colour: true}), "\x1b[31m5 (per CPU 1: 5")
}

func TestNumbersHaveThreeDigits(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 7: "7", 999: "999", 999.7: "1.00k", 1000: "1.00k", 12_345: "12.3k", 999_400: "999k", 999_600: "1.00M",
		94_200_000: "94.2M", 9_996_000: "10.0M", 1.5e9: "1.50G", 3.25: "3.25", 2e15: "2000T",
	} {
		if got := metric(v); got != want {
			t.Errorf("%g: got %s, want %s", v, got, want)
		}
	}
	for s, want := range map[float64]string{0.0123: "12ms", 12.34: "12.3s", 3725: "1h2m5s"} {
		if got := durationText(s); got != want {
			t.Errorf("%g s: got %s, want %s", s, got, want)
		}
	}
}

// Scripts rely on these names.
func TestJSONNames(t *testing.T) {
	encoded, err := json.Marshal(transfer(t, 1).Report())
	if err != nil {
		t.Fatal(err)
	}
	var value map[string]any
	if err := json.Unmarshal(encoded, &value); err != nil {
		t.Fatal(err)
	}
	figures := strings.Fields(`acked_bytes acked_peak_bps acked_rate_bps active_s ca_state_share
		cwnd_packets delivered_packets duration_s end_ns errors events in_flight_packets limits
		lost_packets merged min_rtt_us receive_peak_bps receive_rate_bps received_bytes retransmissions
		rtt_us samples srtt_us start_ns undone`)
	flow := value["flows"].([]any)[0].(map[string]any)
	for _, c := range []struct {
		of   string
		in   any
		want []string
	}{
		{"the report", value, strings.Fields("flows totals")},
		{
			"totals", value["totals"],
			append(strings.Fields("closed_flows flows flows_without_samples loss open_flows senders"), figures...),
		},
		{
			"loss", value["totals"].(map[string]any)["loss"],
			strings.Fields(`ip_bytes lost_per_cpu lost_records missed_records orphan_records synack_again
				synack_again_done udp_443_bytes unowned_flows untracked_flows`),
		},
		{"a flow", flow, append(strings.Fields(`cgroup cgroup_id close_reason closed comm congestion_control
			congestion_controls certainty
			first_ns flow inherited inode limit local netns pid remote`), figures...)},
		{"rtt_us", flow["rtt_us"], strings.Fields("max median min p95 p99")},
		{"cwnd_packets", flow["cwnd_packets"], strings.Fields("max median min")},
		{"retransmissions", flow["retransmissions"], strings.Fields("bytes causes delivered_pct losses packets")},
		{
			"causes", flow["retransmissions"].(map[string]any)["causes"],
			strings.Fields("fast other rack_timer rto rto_recovery syn tlp without_event"),
		},
		{"errors", flow["errors"], strings.Fields("dup_ack local_congestion reordering timeout")},
		{"undone", flow["undone"], strings.Fields("dsack timestamp")},
		{"ca_state_share", flow["ca_state_share"], strings.Fields("cwr disorder loss open recovery")},
	} {
		slices.Sort(c.want)
		if got := slices.Sorted(maps.Keys(c.in.(map[string]any))); !slices.Equal(got, c.want) {
			t.Errorf("%s has the names\n%q, want\n%q", c.of, got, c.want)
		}
	}
	if flow["close_reason"] != "still_open" {
		t.Errorf("close_reason is %v, want a name", flow["close_reason"])
	}
}

// Absent values are there by name, as null.
func TestJSONOfAbsent(t *testing.T) {
	s := newScene(t, Options{})
	s.open(1, nil)
	encoded, err := json.Marshal(s.Report())
	if err != nil {
		t.Fatal(err)
	}
	contains(t, string(encoded), `"rtt_us":null`, `"acked_rate_bps":null`, `"ca_state_share":null`, `"loss":null`,
		`"delivered_pct":null`)
}

func TestTextHasNoControlCharacters(t *testing.T) {
	const hostile = "\x1b]0;owned\a\x1b[2J\nline"
	s := newScene(t, Options{})
	s.open(1, nil)
	f := tcp.Flow{ID: 1, PID: 7, Comm: hostile, CgroupPath: "/" + hostile, CongestionControl: hostile}
	if err := s.Flow(&f); err != nil {
		t.Fatal(err)
	}
	report := s.Report()
	var flow bytes.Buffer
	if err := report.WriteFlow(&flow, 1, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{text(t, report, TextOptions{}), flow.String()} {
		if strings.ContainsAny(text, "\x1b\a") || strings.Contains(text, "\nline") {
			t.Errorf("the text of a hostile process reached the terminal: %q", text)
		}
	}
}

func TestFlowsWithoutAnOwnerAreCounted(t *testing.T) {
	s := transfer(t, 1)
	if err := s.Lost(&tcp.Loss{PerCPU: []uint64{0}, Unowned: 2}); err != nil {
		t.Fatal(err)
	}
	contains(t, text(t, s.Report(), TextOptions{}),
		"lost records   none\nleft out       2 flows (filter by process): the owner was unknown until the end\n")
}
