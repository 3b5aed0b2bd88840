package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airtide/internal/tcp"
)

// stream exports to memory, as -o - does.
func stream(t *testing.T, format Format, samples int, options Options, meta Meta) string {
	t.Helper()
	var out bytes.Buffer
	options.Stdout = &out
	x, err := New(format, "-", meta, options)
	if err != nil {
		t.Fatal(err)
	}
	if err := play(x, samples); err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestAFolderReceivesTheThreeTables(t *testing.T) {
	for _, format := range []Format{Parquet, CSV} {
		dir := filepath.Join(t.TempDir(), "tables")
		exportTo(t, format, dir+"/", 100, Options{})
		want := []string{"events." + string(format), "flows." + string(format), "samples." + string(format)}
		if names := leftovers(t, dir); !slices.Equal(names, want) {
			t.Errorf("the folder holds %v, want %v", names, want)
		}
	}
}

func TestCSVOnStandardOutputIsOneTable(t *testing.T) {
	fields := []tcp.Field{tcp.RttUs, tcp.SsthreshPackets, tcp.UnackedBytes}
	for table, want := range map[Table][]string{
		Samples: {
			"flow,time_ns,time,rtt_us,ssthresh_packets,unacked_bytes",
			"1,1000000000000,2023-11-14T22:13:20.123456789Z,20",
		},
		Events: {
			"flow,time_ns,time,kind,code,code_name,",
			"1,1000000000000,2023-11-14T22:13:20.123456789Z,open,0,,open,10,,0,,,syn_sent,established,",
		},
		Flows: {
			"flow,local,local_address,local_port,",
			"1,10.0.0.1:40000,10.0.0.1,40000,10.0.0.2:5201,10.0.0.2,5201," +
				"4026531840,77,/user.slice,4711,iperf3,99,cubic,",
		},
	} {
		lines := strings.Split(stream(t, CSV, 9, Options{Table: table, Fields: fields}, testMeta), "\n")
		for i := range want {
			if !strings.HasPrefix(lines[i], want[i]) {
				t.Errorf("%s: line %d is %q, want it to begin with %q", table, i+1, lines[i], want[i])
			}
		}
	}
	samples := strings.Split(stream(t, CSV, 9, Options{Fields: fields}, testMeta), "\n")
	if !strings.HasSuffix(samples[1], ",,57920") || !strings.HasSuffix(samples[2], ",60,57920") {
		t.Errorf("absent ssthresh is no empty cell, or the computed field is wrong: %q, %q", samples[1], samples[2])
	}
}

func TestCSVTextIsNoFormula(t *testing.T) {
	var out bytes.Buffer
	x, err := New(CSV, "-", testMeta, Options{Table: Flows, Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	hostile := tcp.Flow{ID: 1, Comm: "=cmd|' /C calc'!A0", CgroupPath: "@SUM(A1)"}
	if err := errors.Join(x.Flow(&hostile), x.Close()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{",'=cmd|' /C calc'!A0,", ",'@SUM(A1),"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in %q", want, out.String())
		}
	}
}

func TestJSONLinesSayWhatEachLineIs(t *testing.T) {
	counts := map[string]int{}
	var first, sack map[string]any
	for line := range strings.Lines(stream(t, JSONLines, 12, Options{}, testMeta)) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		kind := object["type"].(string)
		counts[kind]++
		if kind == "sample" && first == nil {
			first = object
		}
		if object["kind"] == "sack" {
			sack = object
		}
		if kind == "recording" && (len(counts) != 1 || object["host"] != "terminal") {
			t.Errorf("the recording is not told in the first line: %q", line)
		}
	}
	want := map[string]int{"recording": 1, "flow": 4, "sample": 12, "event": 7, "lost": 3}
	for kind, n := range want {
		if counts[kind] != n {
			t.Errorf("%d lines of type %s, want %d", counts[kind], kind, n)
		}
	}
	if _, ok := first["ssthresh_packets"]; ok || first["cwnd_packets"] != 10.0 ||
		first["time"] != "2023-11-14T22:13:20.123456789Z" {
		t.Errorf("first sample %v", first)
	}
	if blocks := sack["blocks"].([]any); len(blocks) != 2 || blocks[1].(map[string]any)["end_bytes"] != 5792.0 {
		t.Errorf("SACK blocks %v", sack["blocks"])
	}
}

func TestWithoutAWallClockThereIsNoWallTime(t *testing.T) {
	meta := testMeta
	meta.ClockWallNs = 0
	if out := stream(t, CSV, 3, Options{}, meta); !strings.HasPrefix(out, "flow,time_ns,ack_bytes,") {
		t.Errorf("header %.60q", out)
	}
	if out := stream(t, JSONLines, 3, Options{}, meta); strings.Contains(out, `"time":`) {
		t.Errorf("a wall time is made up: %.300q", out)
	}
}

func TestWallTimesCountTheirNanosecondsAcrossSeconds(t *testing.T) {
	meta := Meta{ClockMonotonicNs: 100, ClockWallNs: 1_700_000_000_000_000_000}
	clock := wallClock{meta: &meta}
	for monotonicNs, want := range map[int64]string{
		100:               "2023-11-14T22:13:20.000000000Z",
		99:                "2023-11-14T22:13:19.999999999Z",
		1_000_000_101:     "2023-11-14T22:13:21.000000001Z",
		8_640_000_000_015: "2023-11-15T00:37:19.999999915Z",
	} {
		got := string(clock.append(nil, monotonicNs))
		if got != want || got != formatWall(meta.wallNs(monotonicNs)) {
			t.Errorf("%d ns is %s, want %s", monotonicNs, got, want)
		}
	}
}

func TestASurveyLeavesOutWhatIsNowherePresent(t *testing.T) {
	var survey Survey
	if err := play(&survey, 30); err != nil {
		t.Fatal(err)
	}
	fields := survey.Fields()
	for f, want := range map[tcp.Field]bool{
		tcp.CwndPackets: true, tcp.SsthreshPackets: true, tcp.UnackedBytes: true, tcp.SegmentBytes: true,
		tcp.BBRMode: false, tcp.RwndLimitedUs: false,
	} {
		if slices.Contains(fields, f) != want {
			t.Errorf("%s present: %v, want %v", f, !want, want)
		}
	}
	if survey.Flows()[3].Comm != "sshd" {
		t.Errorf("flow 3 is finally %+v", survey.Flows()[3])
	}
	header, _, _ := strings.Cut(stream(t, CSV, 30, Options{Fields: fields}, testMeta), "\n")
	if strings.Contains(header, "bbr_") || !strings.Contains(header, "cubic_k_ms") {
		t.Errorf("header %s", header)
	}
}

// TestTheGuideListsEveryColumn keeps docs/reference/export-formats.md and the code together.
func TestTheGuideListsEveryColumn(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join(repositoryRoot(t), "docs", "reference", "export-formats.md"))
	if err != nil {
		t.Fatal(err)
	}
	for f := range tcp.Field(tcp.NumFields) {
		info := f.Info()
		row := "| `" + info.Name + "` | " + info.Unit + " | " + info.Doc + " |"
		if !strings.Contains(string(guide), row) {
			t.Errorf("docs/reference/export-formats.md lacks the row\n%s", row)
		}
	}
	for _, table := range []Table{Events, Flows} {
		header, _, _ := strings.Cut(stream(t, CSV, 0, Options{Table: table}, testMeta), "\n")
		for _, column := range strings.Split(header, ",") {
			if !strings.Contains(string(guide), "| `"+column+"` |") {
				t.Errorf("docs/reference/export-formats.md lacks the column %s of the table of %s", column, table)
			}
		}
	}
	for _, f := range DefaultCounters() {
		if !strings.Contains(string(guide), "`"+f.String()+"`") {
			t.Errorf("docs/reference/export-formats.md does not name the counter %s", f)
		}
	}
}

// The congestion control of an export is the last one, in announcements before the change as well.
func TestExportNamesTheLastCongestionControl(t *testing.T) {
	flow := &tcp.Flow{ID: 1, CongestionControl: "bbr"}
	survey := &Survey{}
	err := errors.Join(
		survey.Flow(flow),
		survey.Event(&tcp.Event{Flow: 1, Kind: tcp.EventCCChange, Text: "cubic"}),
		survey.Flow(flow), // a later description repeats the first
	)
	if err != nil || survey.Flows()[1].CongestionControl != "cubic" {
		t.Fatalf("%v: %+v", err, survey.Flows()[1])
	}
	for format, o := range map[Format]Options{CSV: {Table: Flows}, JSONLines: {}} {
		var out bytes.Buffer
		o.Stdout = &out
		o.Flows = survey.Flows()
		x, err := New(format, "-", testMeta, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(x.Flow(flow), x.Close()); err != nil {
			t.Fatal(err)
		}
		if text := out.String(); !strings.Contains(text, "cubic") || strings.Contains(text, "bbr") {
			t.Errorf("%s:\n%s", format, text)
		}
	}
}
