package main

import (
	"errors"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airtide/internal/packets/conn"
	"airtide/internal/packets/read"
	"airtide/internal/packets/series"
	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
)

// lossyRecording writes a recording of the client of lossyCapture: cwnd falls from 10 to 5 packets
// at the first retransmission, whose cause is a loss told by SACK.
func lossyRecording(t *testing.T) string {
	t.Helper()
	const (
		begin  = int64(1_795_626_406_031_000_000) // the handshake
		monoNs = int64(5e9)
	)
	m := trace.Metadata{Source: "bpf", ClockMonotonicNs: monoNs, ClockWallNs: begin}
	data := recordingOf(t, m, func(w *trace.Writer) {
		end := netip.MustParseAddr("::1")
		flow := &tcp.Flow{
			ID: 3, Local: netip.AddrPortFrom(end, 46782), Remote: netip.AddrPortFrom(end, 5201), FirstNs: monoNs,
		}
		b := tcp.NewBatch(2)
		for i, cwnd := range []int64{10, 5} {
			row := tcp.Sample{TimeNs: monoNs + int64(i)*int64(80e6), Flow: 3}
			for f := range row.Values {
				row.Values[f] = tcp.Absent
			}
			row.Values[tcp.CwndPackets] = cwnd
			row.Values[tcp.CAStateField] = int64(i) * int64(tcp.CARecovery)
			row.Values[tcp.MSSBytes] = 1440
			b.Append(&row)
		}
		err := w.Flow(flow)
		if err == nil {
			err = w.Samples(b)
		}
		for ns := int64(0); ns < 200e6 && err == nil; ns += 5e6 {
			err = w.Event(&tcp.Event{
				TimeNs: monoNs + ns, Flow: 3, Kind: tcp.EventRetransmit, Cause: tcp.CauseFast,
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	path := filepath.Join(t.TempDir(), "lossy.atr")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPacketsAnnotates(t *testing.T) {
	recording := lossyRecording(t)
	out := filepath.Join(t.TempDir(), "annotated.pcapng")
	text := mustRun(t, "packets", "annotate", lossyCapture, recording, "-o", out)
	if !strings.Contains(text, "700 packets, 6") {
		t.Errorf("prints %q", text)
	}
	content, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, comment := range []string{
		"flow 3, cwnd 10 packets, state open", "flow 3, cwnd 5 packets, state recovery, retransmission: fast",
	} {
		if !strings.Contains(string(content), comment) {
			t.Errorf("no comment %q", comment)
		}
	}
	// The copy has the same packets.
	before, err := read.Open(lossyCapture)
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	after, err := read.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer after.Close()
	for {
		var p, q read.Packet
		want := before.Next(&p)
		got := after.Next(&q)
		if want != got || p.TimeNs != q.TimeNs || string(p.Data) != string(q.Data) || p.Length != q.Length {
			t.Fatalf("packet %d differs: %v, %v", p.Number, want, got)
		}
		if want == io.EOF {
			break
		}
	}
	if all := mustRun(t, "packets", "annotate", lossyCapture, recording, "-o", "-"); all != string(content) {
		t.Error("standard output receives another copy than a file")
	}
	_, stderr, status := run(t, "packets", "annotate", lossyCapture, recording, "-o", out)
	if status != statusFailed ||
		!strings.Contains(stderr, "--force") {
		t.Errorf("an existing file: status %d, %s", status, stderr)
	}
}

// withWindow is a sink of segments as samples. It adds cwnd: 10 packets, and 5 from a time on.
type withWindow struct {
	tcp.Sink
	fromNs int64
}

func (w withWindow) Samples(b *tcp.Batch) error {
	for i, ns := range b.TimeNs {
		b.Cols[tcp.CwndPackets][i] = 10
		if ns >= w.fromNs {
			b.Cols[tcp.CwndPackets][i] = 5
		}
	}
	return w.Sink.Samples(b)
}

// transferRecording records the segments of lossyCapture, those of one connection or of all. Cwnd
// falls at a time.
func transferRecording(t *testing.T, aheadNs, fromNs int64, only uint64) string {
	t.Helper()
	m := trace.Metadata{Source: "bpf", ClockMonotonicNs: 1, ClockWallNs: 1 + aheadNs}
	data := recordingOf(t, m, func(w *trace.Writer) {
		r, err := read.Open(lossyCapture)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		s := &series.Series{Sink: withWindow{w, fromNs}, Only: only}
		_, err = conn.Run(t.Context(), r, conn.Options{Observer: s, Done: s.Done})
		if err := errors.Join(err, s.Flush()); err != nil {
			t.Fatal(err)
		}
	})
	path := filepath.Join(t.TempDir(), "transfer.atr")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The clock of the recording may be ahead or behind: the comments are the same.
func TestPacketsAnnotatesAcrossClocks(t *testing.T) {
	const middle = int64(1_795_626_406_111_000_000)
	annotated := func(aheadNs int64) string {
		recording := transferRecording(t, aheadNs, middle, 2)
		return mustRun(t, "packets", "annotate", lossyCapture, recording, "-o", "-")
	}
	want := annotated(0)
	if n, m := strings.Count(want, "cwnd 10"), strings.Count(want, "cwnd 5"); n < 100 || m < 100 {
		t.Fatalf("%d and %d comments", n, m)
	}
	for _, ahead := range []int64{7e9, -40e9} {
		if annotated(ahead) != want {
			t.Errorf("%d ns ahead: other comments", ahead)
		}
	}
}

func TestPacketsAnnotatesNothing(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "own.pcap.gz")
	content, err := os.ReadFile(lossyCapture)
	if err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(dir, "old")
	if err := errors.Join(os.WriteFile(own, content, 0o600), os.WriteFile(old, []byte("old"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   []string
		want   string
		status int
	}{
		{[]string{own, kernelRecording}, "-o", statusMisuse},
		{[]string{own, kernelRecording, "-f", "-o", old}, "kernel.atr has none of the", statusFailed},
		{[]string{own, kernelRecording, "-o", own, "-f"}, "is read", statusMisuse},
		{[]string{own}, "missing argument RECORDING", statusMisuse},
		{[]string{own, kernelRecording, "-o", dir + "/a"}, "kernel.atr has none of the", statusFailed},
		{[]string{own, dir + "/absent", "-o", dir + "/a"}, "absent", statusFailed},
		{[]string{dir + "/absent", kernelRecording, "-o", dir + "/a"}, "absent", statusFailed},
		{[]string{own, own, "-o", dir + "/a"}, "recording", statusFailed},
	} {
		_, stderr, status := run(t, append([]string{"packets", "annotate"}, c.args...)...)
		if status != c.status || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") > 2 {
			t.Errorf("%v: status %d, %s", c.args, status, stderr)
		}
	}
	if text, err := os.ReadFile(old); err != nil || string(text) != "old" {
		t.Errorf("the old output is %q, %v", text, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("failures left %v", left)
	}
	if after, _ := os.ReadFile(own); string(after) != string(content) {
		t.Error("the capture has changed")
	}
}

// recordingOf writes a recording by the real writer and returns its bytes.
func recordingOf(t *testing.T, m trace.Metadata, write func(*trace.Writer)) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made.atr")
	w, err := trace.Create(path, m, trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	write(w)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
