package screen

import (
	"slices"
	"strings"
	"testing"

	"airtide/internal/tcp"
)

func flowsOf(rows []*Row) (ids []tcp.FlowID) {
	for _, r := range rows {
		ids = append(ids, r.Flow)
	}
	return ids
}

func someRows() []*Row {
	row := func(id tcp.FlowID, comm, remote, cc Text, cwnd, send, receive Value) *Row {
		return &Row{
			Flow:              id,
			Comm:              comm,
			PID:               100 + Value(id),
			Remote:            remote,
			CongestionControl: cc,
			Cwnd:              cwnd,
			SendRate:          send,
			ReceiveRate:       receive,
			Idle:              send <= 0 && receive <= 0,
		}
	}
	nobody := row(4, "", "198.51.100.7:80", "", tcp.Absent, tcp.Absent, tcp.Absent)
	nobody.PID = tcp.Absent
	return []*Row{
		row(3, "curl", "192.0.2.1:443", "cubic", 10, 100, 900),
		row(1, "iperf3", "192.0.2.2:5201", "bbr", 50, 500, 0),
		row(2, "Iperf3", "[2001:db8::1]:5201", "cubic", 10, 0, 0),
		nobody,
	}
}

func TestRowsComeInTheOrderOfTheSort(t *testing.T) {
	for _, c := range []struct {
		key  string
		want []tcp.FlowID
	}{
		{"rate_bps", []tcp.FlowID{3, 1, 2, 4}},
		{"-rate_bps", []tcp.FlowID{2, 1, 3, 4}}, // absent values stay last
		{"send_rate_bps", []tcp.FlowID{1, 3, 2, 4}},
		{"cwnd_packets", []tcp.FlowID{1, 2, 3, 4}}, // equals by flow
		{"-cwnd_packets", []tcp.FlowID{2, 3, 1, 4}},
		{"flow", []tcp.FlowID{1, 2, 3, 4}},
		{"-flow", []tcp.FlowID{4, 3, 2, 1}},
		{"congestion_control", []tcp.FlowID{1, 2, 3, 4}},
		{"-congestion_control", []tcp.FlowID{2, 3, 1, 4}},
		{"process", []tcp.FlowID{2, 3, 1, 4}},
		{"cwnd", []tcp.FlowID{1, 2, 3, 4}}, // a column's name without its unit
	} {
		t.Run(c.key, func(t *testing.T) {
			s, err := ParseSort(c.key)
			if err != nil {
				t.Fatal(err)
			}
			if got := flowsOf(Arrange(someRows(), s, Filter{})); !slices.Equal(got, c.want) {
				t.Errorf("flows %v, want %v", got, c.want)
			}
		})
	}
	if _, err := ParseSort("beauty"); err == nil || !strings.Contains(err.Error(), "cwnd_packets") {
		t.Errorf("an unknown key gives %v, want an error that lists the keys", err)
	}
}

func TestAFilterWantsAllItsWordsInProcessPeerOrCongestionControl(t *testing.T) {
	for _, c := range []struct {
		name   string
		filter Filter
		want   []tcp.FlowID
	}{
		{"everything", Filter{}, []tcp.FlowID{1, 2, 3, 4}},
		{"a process, in either case", Filter{Text: "IPERF"}, []tcp.FlowID{1, 2}},
		{"a process id", Filter{Text: "/103"}, []tcp.FlowID{3}},
		{"a peer", Filter{Text: "192.0.2."}, []tcp.FlowID{1, 3}},
		{"an algorithm", Filter{Text: "cubic"}, []tcp.FlowID{2, 3}},
		{"two words", Filter{Text: " cubic  5201 "}, []tcp.FlowID{2}},
		{"nothing", Filter{Text: "vegas"}, nil},
		{"only busy flows", Filter{HideIdle: true}, []tcp.FlowID{1, 3}},
		{"a busy process", Filter{Text: "iperf", HideIdle: true}, []tcp.FlowID{1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := flowsOf(Arrange(someRows(), Sort{Key: "flow"}, c.filter)); !slices.Equal(got, c.want) {
				t.Errorf("flows %v, want %v", got, c.want)
			}
		})
	}
}

func TestTheLeastImportantColumnsVanishFirst(t *testing.T) {
	w := wants(nil)
	previous := 0
	for width := 1; width < 300; width++ {
		shown := fit(width, leasts(width), w)
		total := len(shown) - 1
		for _, c := range shown {
			total += c.width
		}
		if total > width {
			t.Fatalf("width %d: the columns need %d", width, total)
		}
		if len(shown) < previous {
			t.Fatalf("width %d shows %d columns, a narrower one %d", width, len(shown), previous)
		}
		previous = len(shown)
	}
	titles := func(width int) (list []string) {
		for _, c := range fit(width, leasts(width), w) {
			list = append(list, c.title)
		}
		return list
	}
	if got := strings.Join(titles(80), " "); got != "PROCESS PEER LIMIT CWND SRTT/MIN ms SEND b/s RECV b/s" {
		t.Errorf("80 cells show %s", got)
	}
	if got := titles(184); len(got) != len(columns) {
		t.Errorf("184 cells show only %v", got)
	}
}

func TestNumbersAreShownInFewCells(t *testing.T) {
	for _, c := range []struct {
		text func(Value) string
		v    Value
		want string
	}{
		{countText, tcp.Absent, "-"},
		{countText, 0, "0"},
		{countText, 99_999, "99999"},
		{countText, 100_000, "100k"},
		{scaledText, tcp.Absent, "-"},
		{scaledText, 999, "999"},
		{scaledText, 1000, "1.00k"},
		{scaledText, 9_996, "10.0k"},
		{scaledText, 999_400, "999k"},
		{scaledText, 999_600, "1.00M"},
		{scaledText, 12_345_678_901, "12.3G"},
		{scaledText, -1500, "-1.50k"},
		{scaledText, 9_223_372_036_854_775_807, "9.22E"},
		{msText, tcp.Absent, "-"},
		{msText, 0, "0"},
		{msText, 45, "0.045"},
		{msText, 1234, "1.23"},
		{msText, 120_400, "120"},
		{msText, 250_000_000, "250k"},
	} {
		if got := c.text(c.v); got != c.want {
			t.Errorf("%d is shown as %q, want %q", c.v, got, c.want)
		}
	}
}
