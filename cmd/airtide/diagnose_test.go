package main

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
	"airtide/test/pty"
)

// boundedWindow writes a transfer whose window stands full at 20 packets for 5 s, beside a
// connection without data. change may alter the flow and each sample.
func boundedWindow(t *testing.T, m trace.Metadata, flow func(*tcp.Flow), row func(*tcp.Sample), lost uint64) []byte {
	t.Helper()
	return recordingOf(t, m, func(w *trace.Writer) {
		f := tcp.Flow{
			ID: 1, Comm: "evil\x1b[31m\u202e", CongestionControl: "cubic", FirstNs: 1e9,
			Local: netip.MustParseAddrPort("10.1.0.1:40000"), Remote: netip.MustParseAddrPort("10.2.0.1:7000"),
		}
		flow(&f)
		silent := f
		silent.ID = 2
		silent.Local = netip.MustParseAddrPort("10.1.0.1:40001")
		for _, of := range []*tcp.Flow{&f, &silent} {
			if err := w.Flow(of); err != nil {
				t.Fatal(err)
			}
		}
		b := tcp.NewBatch(50)
		for i := range int64(500) {
			s := tcp.Sample{Flow: 1, TimeNs: 1e9 + (i+1)*10e6}
			for field := range s.Values {
				s.Values[field] = tcp.Absent
			}
			acked := i * 5 * 1448
			for field, v := range map[tcp.Field]int64{
				tcp.CwndPackets: 20, tcp.InFlightPackets: 20, tcp.SsthreshPackets: 10, tcp.CAStateField: 0,
				tcp.MSSBytes: 1448, tcp.CwndLimited: 1, tcp.SrttUs: 40_000, tcp.RttUs: 40_000, tcp.MinRttUs: 40_000,
				tcp.SendWindowBytes: 1 << 20, tcp.AckedBytes: acked, tcp.SentBytes: acked + 20*1448,
				tcp.WrittenBytes: acked + 60*1448, tcp.ReceivedBytes: 0, tcp.ReadBytes: 0, tcp.SegmentBytes: 0,
				tcp.SendBufferBytes: 1 << 20, tcp.SendMemoryBytes: 100_000, tcp.DeviceQueueBytes: 0,
				tcp.DeliveredPackets: i * 5, tcp.LostPackets: 0, tcp.RetransmitsPackets: 0,
				tcp.PacingRateBps: 8_000_000, tcp.BusyUs: i * 10_000, tcp.RwndLimitedUs: 0, tcp.SndbufLimitedUs: 0,
				tcp.StateField: int64(tcp.StateEstablished),
			} {
				s.Values[field] = v
			}
			row(&s)
			b.Append(&s)
			if b.Len() < 50 {
				continue
			}
			if err := errors.Join(w.Samples(b), w.Flush()); err != nil {
				t.Fatal(err)
			}
			b.Reset()
		}
		if lost > 0 {
			if err := w.Lost(&tcp.Loss{PerCPU: []uint64{lost}}); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A recording with a defect gets the same verdict with less certainty, and the reason.
func TestDefectsOfARecordingLowerTheCertainty(t *testing.T) {
	same := func(*tcp.Flow) {}
	as := func(*tcp.Sample) {}
	whole := boundedWindow(t, trace.Metadata{}, same, as, 0)
	for name, c := range map[string]struct {
		data []byte
		want string // reason for doubt; empty for none
	}{
		"whole": {whole, ""},
		"cut":   {whole[:len(whole)*7/8], "the recording is damaged or unfinished"},
		"polled": {
			boundedWindow(t, trace.Metadata{Source: "diag"}, same, as, 0),
			"the source polls: short states between two polls are not seen",
		},
		"started late": {
			boundedWindow(t, trace.Metadata{}, func(f *tcp.Flow) { f.Inherited = true }, as, 0),
			"the connection was open before the recording",
		},
		"lost": {boundedWindow(t, trace.Metadata{}, same, as, 3), "records were lost"},
		"older": {
			boundedWindow(t, trace.Metadata{}, same, func(s *tcp.Sample) {
				s.Values[tcp.DeviceQueueBytes] = tcp.Absent
				s.Values[tcp.SendMemoryBytes] = tcp.Absent
			}, 0),
			"the recording lacks send_memory_bytes, device_queue_bytes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "made.atr")
			if err := os.WriteFile(path, c.data, 0o600); err != nil {
				t.Fatal(err)
			}
			stdout, _, status := run(t, "diagnose", path, "--json")
			var r struct {
				Files []struct {
					Connections []struct{ Limit, Certainty string }
				}
			}
			if err := json.Unmarshal([]byte(stdout), &r); err != nil || status != 0 {
				t.Fatalf("status %d: %v\n%s", status, err, stdout)
			}
			want := "likely"
			if c.want == "" {
				want = "certain"
			}
			if got := r.Files[0].Connections[0]; got.Limit != "bounded cwnd" || got.Certainty != want {
				t.Errorf("%+v, want bounded cwnd, %s", got, want)
			}
			text, _, _ := run(t, "diagnose", path)
			if !strings.Contains(strings.Join(strings.Fields(text), " "), c.want) {
				t.Errorf("the text lacks %q:\n%s", c.want, text)
			}
			if strings.ContainsAny(text, "\x1b\u202e") || !strings.Contains(text, "idle: 1 connection") {
				t.Errorf("control characters, or no word of the connection without data:\n%q", text)
			}
		})
	}
}

// A capture has connections, of which both ends are flows.
func TestDiagnoseOfACaptureNumbersConnections(t *testing.T) {
	text := mustRun(t, "diagnose", "--all", lossyCapture)
	if !strings.Contains(text, "connection 2  ") || strings.Contains(text, "flow ") {
		t.Errorf("%s", text)
	}
}

// limitsRecording is a file with a bounded window.
func limitsRecording(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "bounded.atr")
	data := boundedWindow(t, trace.Metadata{}, func(*tcp.Flow) {}, func(*tcp.Sample) {}, 0)
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// plot -k limits and diagnose --plot draw the same band, with the name of each limit.
func TestFiguresOfLimits(t *testing.T) {
	path := limitsRecording(t)
	figure := filepath.Join(t.TempDir(), "limits.svg")
	mustRun(t, "diagnose", path, "--plot", figure)
	drawn, err := os.ReadFile(figure)
	if err != nil {
		t.Fatal(err)
	}
	plotted := mustRun(t, "plot", path, "-k", "limits", "--flow", "1", "-o", "-", "--format", "svg")
	if string(drawn) != plotted {
		t.Error("diagnose --plot and plot -k limits draw different figures")
	}
	for _, text := range []string{"bounded cwnd", "time (s)", "limit"} {
		if !strings.Contains(plotted, text) {
			t.Errorf("the figure lacks %q", text)
		}
	}
}

// The column of the limit stays at 80 columns, and none of its rows is wider.
func TestMonitorNamesTheLimitAt80Columns(t *testing.T) {
	term := pty.Open(t, 80, 24)
	cmd := airtide("monitor", limitsRecording(t), "--speed", "20")
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	term.Attach(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	term.WaitFor(t, "LIMIT")
	term.WaitFor(t, "bounded cwnd")
	for line := range strings.SplitSeq(ansi.Strip(term.Shown()), "\n") {
		row := strings.TrimRight(line, "\r")
		if strings.Contains(row, "bounded cwnd") && (len([]rune(row)) > 80 || !strings.Contains(row, ":7000")) {
			t.Errorf("%d columns: %q", len([]rune(row)), row)
		}
	}
}
