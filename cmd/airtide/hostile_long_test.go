//go:build long

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/s2"

	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
	"airtide/test/testnet"
)

// The contract of verbs that read files, whatever is in them. Time is processor time, because the
// machine of a test has other work.
const (
	hostileBytes  = 1_000_000
	hostileMemory = 200 << 20       // of files of up to 1 MB
	hostileMore   = 5 << 20         // for each further MB
	hostileTime   = 5 * time.Second // for each MB
	hostileOutput = 700 << 20
	hostileEnd    = time.Second      // behind an interrupt
	hostileGuard  = 2 * time.Minute  // of wall time
	hostileWait   = 10 * time.Second // wall time after an interrupt: waiting uses no processor
)

// control is a text that a terminal could obey.
const control = "\x1b]0;owned\a\x1b[2J\r\x00\u009b31m\u202e"

// forged is a block with valid checksums, as docs/reference/recording.md describes it.
func forged(kind byte, count uint32, claimed int, payload []byte) []byte {
	b := append(make([]byte, 64), payload...)
	le := binary.LittleEndian
	table := crc32.MakeTable(crc32.Castagnoli)
	copy(b, "\x89ATR\r\n\x1a\n")
	b[8] = kind
	b[9] = 1
	le.PutUint32(b[16:], uint32(max(claimed, len(payload))))
	le.PutUint32(b[20:], count)
	le.PutUint64(b[32:], 1<<62)
	le.PutUint32(b[44:], math.MaxUint32)
	le.PutUint32(b[56:], crc32.Checksum(payload, table))
	le.PutUint32(b[60:], crc32.Checksum(b[:60], table))
	return b
}

// hostileFlow is a flow whose texts are control characters.
func hostileFlow(id tcp.FlowID) *tcp.Flow {
	return &tcp.Flow{
		ID: id, Local: netip.MustParseAddrPort("192.0.2.1:4000"), Remote: netip.MustParseAddrPort("192.0.2.2:443"),
		PID: 7, Comm: control + "=1+1", CgroupPath: "/" + control, CongestionControl: control,
	}
}

// hostileRadio writes records of an interface, a network and stations whose names are control
// characters.
func hostileRadio(w *trace.Writer) {
	for i := range 40 {
		r := tcp.Radio{
			TimeNs: int64(i+1) * 1e7, Kind: tcp.RadioKind(i % 20), Interface: control + "=1+1", Station: control,
			SSID: control + "\nforged", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.1")},
		}
		for f := range r.Values {
			r.Values[f] = int64(i*f) << i
		}
		_ = w.Radio(&r)
	}
}

// samplesOf writes a sample for each of many flows, at times and of values that next makes.
func samplesOf(w *trace.Writer, flows, rows int, next func(i int) int64) {
	b := tcp.NewBatch(1)
	var s tcp.Sample
	for i := range rows {
		s.Flow = tcp.FlowID(i%flows + 1)
		s.TimeNs = next(i)
		for f := range s.Values {
			s.Values[f] = next(i) >> (f % 40)
		}
		b.Reset()
		b.Append(&s)
		_ = w.Samples(b)
	}
}

// hostileCorpus makes the malicious recordings.
func hostileCorpus(t *testing.T) map[string][]byte {
	t.Helper()
	empty := recordingOf(t, trace.Metadata{}, func(*trace.Writer) {})
	compressed := func(text []byte) []byte { return s2.EncodeSnappy(nil, text) }
	fill := func(block func(i int) []byte) []byte {
		file := bytes.Clone(empty)
		for i := 0; ; i++ {
			b := block(i)
			if len(file)+len(b) > hostileBytes {
				return file
			}
			file = append(file, b...)
		}
	}
	sameFlow := forged(2, 1<<16, 0, compressed(bytes.Repeat([]byte(`{"flow":1}`), 1<<16)))
	claim := forged(4, 1, 48<<20, nil)
	rng := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, hostileBytes)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	return map[string][]byte{
		"controls": recordingOf(t, trace.Metadata{
			Host: control, Kernel: control, Arch: control, Source: control, SourceDetail: control, Density: control,
			Label: control, Command: []string{control}, Tool: control,
		}, func(w *trace.Writer) {
			for id := range tcp.FlowID(3) {
				_ = w.Flow(hostileFlow(id + 1))
				_ = w.Event(&tcp.Event{Flow: id + 1, TimeNs: 5, Kind: tcp.EventCCChange, Text: control})
			}
			hostileRadio(w)
			samplesOf(w, 3, 3000, func(i int) int64 { return int64(i) * 1e6 })
		}),
		"definitions": fill(func(i int) []byte {
			var text []byte
			for k := range 5000 {
				text = fmt.Appendf(text, `{"flow":%d}`+"\n", 1+i*5000+k)
			}
			return forged(2, 5000, 0, compressed(text))
		}),
		"one flow again and again": fill(func(int) []byte { return sameFlow }),
		"long texts": fill(func(i int) []byte {
			text := fmt.Sprintf(`{"flow":%d,"comm":"%s","cgroup":"/%[2]s"}`, i+1, strings.Repeat("x", 1<<20))
			return forged(2, 1, 0, compressed([]byte(text)))
		}),
		"claims": fill(func(int) []byte { return claim }),
		"many flows": recordingOf(t, trace.Metadata{}, func(w *trace.Writer) {
			samplesOf(w, 20_000, 20_000, func(i int) int64 { return int64(i) << (i % 30) })
		}),
		"extreme times": recordingOf(t, trace.Metadata{}, func(w *trace.Writer) {
			_ = w.Flow(hostileFlow(1))
			samplesOf(w, 1, 200, func(i int) int64 {
				return []int64{math.MinInt64 + 1, -1, 0, 1, 1 << 40, math.MaxInt64}[i%6]
			})
		}),
		"events": recordingOf(t, trace.Metadata{}, func(w *trace.Writer) {
			for i := range 100_000 {
				_ = w.Event(&tcp.Event{
					Flow: tcp.FlowID(i%50 + 1), TimeNs: int64(i) << 20, Kind: tcp.EventKind(i % 256), Code: 255,
					Value: -1,
				})
			}
		}),
		"late retransmissions": recordingOf(t, trace.Metadata{Source: "bpf"}, func(w *trace.Writer) {
			_ = w.Flow(hostileFlow(1))
			samplesOf(w, 1, 10, func(i int) int64 { return int64(i) })
			for range 100_000 {
				_ = w.Event(&tcp.Event{Flow: 1, TimeNs: 1 << 60, Kind: tcp.EventRetransmit, Value: 1})
			}
			_ = w.Flush()
			samplesOf(w, 1, 300_000, func(i int) int64 { return int64(i) * 1000 })
		}),
		"congestion controls": recordingOf(t, trace.Metadata{Source: "bpf"}, func(w *trace.Writer) {
			_ = w.Flow(hostileFlow(1))
			samplesOf(w, 1, 1000, func(i int) int64 { return int64(i) * 1e6 })
			for i := range 140_000 {
				name := fmt.Sprintf("%06d", i)
				_ = w.Event(&tcp.Event{Flow: 1, TimeNs: int64(i) * 7e3, Kind: tcp.EventCCChange, Text: name})
			}
		}),
		"parts of drops": recordingOf(t, trace.Metadata{With: []string{"drops"}}, func(w *trace.Writer) {
			_ = w.Flow(hostileFlow(1))
			for range 1024 {
				_ = w.Event(&tcp.Event{
					Flow: 1, TimeNs: 1, Kind: tcp.EventDrop, From: tcp.DirectionSent, EndSeq: 1 << 40, Text: "queue",
				})
			}
			for i := range int64(150_000) {
				_ = w.Event(&tcp.Event{
					Flow: 1, TimeNs: i * 1000, Kind: tcp.EventRetransmit, Seq: i * 10, EndSeq: i*10 + 1, Value: 1,
				})
			}
			samplesOf(w, 1, 1000, func(i int) int64 { return int64(i) * 1e6 })
		}),
		"many samples of many flows": padded(recordingOf(t, trace.Metadata{}, func(w *trace.Writer) {
			const flows = 44_000
			b := tcp.NewBatch(4096)
			for i := range 12 * flows {
				s := tcp.Sample{Flow: tcp.FlowID(i%flows + 1), TimeNs: int64(i/flows) * 1e6}
				for f := range s.Values {
					s.Values[f] = tcp.Absent
				}
				s.Values[tcp.SrttUs] = int64(i / flows)
				s.Values[tcp.CwndPackets] = int64(i / flows)
				b.Append(&s)
				if b.Len() == 4096 {
					_ = w.Samples(b)
					b.Reset()
				}
			}
			_ = w.Samples(b)
		}), noise),
		"states that swing": recordingOf(t, trace.Metadata{Source: "bpf"}, func(w *trace.Writer) {
			_ = w.Flow(hostileFlow(1))
			samplesOf(w, 1, 10_000, func(i int) int64 { return int64(i) * 1e6 })
			for i := range 100_000 {
				kind := []tcp.EventKind{tcp.EventCAState, tcp.EventRetransmit, tcp.EventSack, tcp.EventCCChange}[i%4]
				_ = w.Event(&tcp.Event{
					Flow: 1, TimeNs: 1e10 - int64(i)*1e5, Kind: kind, Code: tcp.ErrorCode(i % 5), Seq: int64(i),
					EndSeq: int64(i) + 1, Value: 1, From: uint8(i % 5), To: uint8(i % 4),
				})
			}
		}),
		"noise":           append(bytes.Clone(empty), noise...),
		"cut off":         empty[:len(empty)/2],
		"a marker's loop": bytes.Repeat([]byte("\x89ATR\r\n\x1a\n"), hostileBytes/8),
	}
}

// padded adds a block of an unknown kind behind the headers of a recording, up to the size of a
// hostile file. It raises the limits.
func padded(recording, noise []byte) []byte {
	marker := []byte("\x89ATR\r\n\x1a\n")
	at := 0
	for range 2 {
		at += len(marker) + bytes.Index(recording[at+len(marker):], marker)
	}
	block := forged(99, 0, 0, noise[:hostileBytes-len(recording)-64])
	return slices.Concat(recording[:at], block, recording[at:])
}

// readingVerbs read a recording, "FILE", with more flags at once than TestHostileFilesOfEveryVerb
// joins.
var readingVerbs = [][]string{
	{"info", "FILE", "--flow", "1"},
	{"info", "FILE", "FILE", "--find", "443"},
	{"info", "FILE", "FILE"},
	{"plot", "FILE", "-o", "-", "--format", "png"},
	{"plot", "FILE", "-o", "-", "--format", "png", "--grid"},
	{"plot", "FILE", "-o", "-", "--format", "svg", "--kind", "overview", "--flow", "1"},
	{"plot", "FILE", "-o", "-", "--format", "svg", "--grid"},
	{"plot", "FILE", "-o", "-", "--format", "svg", "--kind", "limits"},
	{"export", "FILE", "-o", "OUT", "--to", "perfetto"},
	{"monitor", "FILE", "--json", "--once", "--from", "1s"},
	{"monitor", "FILE", "--json", "--events"},
	{"diagnose", "FILE"},
}

// TestHostileRecordings runs reading verbs on every malicious recording. Each may fail, with few
// words and without a crash.
func TestHostileRecordings(t *testing.T) {
	dir := t.TempDir()
	for name, data := range hostileCorpus(t) {
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".atr")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		for i, verb := range readingVerbs {
			args := make([]string, len(verb))
			for k, arg := range verb {
				switch arg {
				case "FILE":
					arg = path
				case "OUT":
					arg = filepath.Join(dir, fmt.Sprintf("%s-%d", name, i))
				}
				args[k] = arg
			}
			t.Run(name+"/"+strings.Join(verb, " "), func(t *testing.T) {
				t.Parallel()
				runHostile(t, args, 0)
			})
		}
	}
}

// hostileLimits are the memory and the processor time for the files among arguments. Holes of
// sparse files do not count.
func hostileLimits(args []string) (memory int64, processor time.Duration) {
	var size int64
	seen := map[string]bool{}
	for _, arg := range args {
		_, value, ok := strings.Cut(arg, "=")
		if !ok {
			value = arg
		}
		var s syscall.Stat_t
		if !seen[value] && syscall.Lstat(value, &s) == nil && s.Mode&syscall.S_IFMT == syscall.S_IFREG {
			size += min(s.Size, s.Blocks*512)
		}
		seen[value] = true
	}
	more := max(0, size-hostileBytes-4096) / hostileBytes
	return hostileMemory + more*hostileMore, time.Duration(1+more) * hostileTime
}

// runHostile checks one verb on hostile files. If the verb still runs after a while, wait > 0, it
// is interrupted.
func runHostile(t *testing.T, args []string, wait time.Duration) {
	memory, processor := hostileLimits(args)
	var out, errOut checkedOutput
	cmd := airtide(args...)
	cmd.Dir = t.TempDir()
	cmd.Stdout = &out
	cmd.Stderr = &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	guard := time.AfterFunc(hostileGuard, func() { _ = cmd.Process.Kill() })
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	interrupted := false
	checked := make(chan struct{})
	go func() {
		defer close(checked)
		if wait == 0 {
			return
		}
		select {
		case <-ended:
		case <-time.After(wait):
			interrupted = true
			endByInterrupt(t, cmd, ended)
		}
	}()
	used := peakMemory(cmd.Process.Pid, ended)
	<-checked
	if !guard.Stop() {
		t.Fatalf("it takes more than %s", hostileGuard)
	}
	status := cmd.ProcessState.ExitCode()
	if interrupted && (status == 130 || atStart(cmd)) {
		status = 0
	}
	if status < 0 || status > 2 || bytes.Contains(errOut.begin, []byte("goroutine ")) {
		t.Errorf("status %d: %.2000s", status, errOut.begin)
	}
	took := processorTime(cmd)
	t.Logf("%d MB of memory, %d MB of output, %s of processor time", used>>20, out.bytes>>20, took)
	if used > memory || out.bytes > hostileOutput || took > processor {
		t.Errorf("it takes %d MB of memory and %s of processor time and prints %d MB; at most %d MB, %s and %d MB",
			used>>20, took, out.bytes>>20, memory>>20, processor, hostileOutput>>20)
	}
	for stream, o := range map[string]*checkedOutput{"stdout": &out, "stderr": &errOut} {
		if o.control != "" && !(o == &out && isBinary(args, out.begin)) {
			t.Errorf("%s has a control character: %s", stream, o.control)
		}
	}
}

// processorTime is the processor time of a process that has ended.
func processorTime(cmd *exec.Cmd) time.Duration {
	return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
}

// atStart reports whether SIGINT ended a process before it handled signals.
func atStart(cmd *exec.Cmd) bool {
	by := cmd.ProcessState.Sys().(syscall.WaitStatus)
	return by.Signaled() && by.Signal() == syscall.SIGINT
}

// endByInterrupt interrupts a verb once. It ends within a second of processor time; an agent within
// three, since the kernel verifies its BPF programs to the end.
func endByInterrupt(t *testing.T, cmd *exec.Cmd, ended <-chan struct{}) {
	used := time.Duration(processorTicks(cmd.Process.Pid)) * 10 * time.Millisecond
	begin := time.Now()
	_ = cmd.Process.Signal(os.Interrupt)
	select {
	case <-ended:
	case <-time.After(hostileWait):
		_ = cmd.Process.Kill()
		<-ended
		t.Errorf("an interrupt does not end it within %s", hostileWait)
		return
	}
	took := processorTime(cmd) - used
	t.Logf("%s after the interrupt it ends, %s of processor time, with %s", time.Since(begin), took, cmd.ProcessState)
	most := hostileEnd
	if slices.Contains(cmd.Args, "share") && slices.Contains(cmd.Args, "run") {
		most *= 3
	}
	if used > 0 && took > most { // 0: it had ended
		t.Errorf("behind the interrupt it takes %s of processor time, want at most %s", took, most)
	}
}

// isBinary reports whether an output is no text: a picture, a PDF or a trace of Perfetto.
func isBinary(args []string, begin []byte) bool {
	return bytes.HasPrefix(begin, []byte("\x89PNG")) || bytes.HasPrefix(begin, []byte("%PDF")) ||
		slices.Contains(args, "--to=perfetto")
}

// peakMemory reads the greatest memory of a process until it has ended, in bytes. The rusage of a
// child does not do: it begins with the memory of the parent.
func peakMemory(pid int, ended <-chan struct{}) (peak int64) {
	own, _ := os.ReadFile("/proc/self/cmdline")
	begun := false // it is the verb, and no copy of the test any more
	for {
		if !begun {
			exe, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
			begun = !bytes.Equal(exe, own)
		}
		status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if at := bytes.Index(status, []byte("VmHWM:")); begun && at >= 0 {
			var kib int64
			_, _ = fmt.Sscanf(string(status[at:]), "VmHWM: %d kB", &kib)
			peak = max(peak, kib<<10)
		}
		select {
		case <-ended:
			return peak
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// TestManyFlowsTakeLittleMemory sums up the flows of a busy server. No verb holds a report of each.
func TestManyFlowsTakeLittleMemory(t *testing.T) {
	const flows, memory = 200_000, 300 << 20
	path := filepath.Join(t.TempDir(), "it.atr")
	data := recordingOf(t, trace.Metadata{Source: "bpf"}, func(w *trace.Writer) {
		for id := range tcp.FlowID(flows) {
			_ = w.Flow(hostileFlow(id + 1))
		}
		samplesOf(w, flows, 3*flows, func(i int) int64 { return int64(i) * 1e4 })
	})
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{
		"info", "info --json", "info --json --sort process", "fairness", "fairness --by process", "diagnose --json",
	} {
		t.Run(verb, func(t *testing.T) {
			cmd := airtide(append(strings.Fields(verb), path)...)
			ended := startVerb(t, cmd)
			used := peakMemory(cmd.Process.Pid, ended)
			if status := cmd.ProcessState.ExitCode(); status != 0 || used > memory {
				t.Errorf("status %d, %d MB of memory, want at most %d", status, used>>20, memory>>20)
			}
			t.Logf("%d MB, %s", used>>20, processorTime(cmd))
		})
	}
}

// TestOneInterruptEndsAReadingVerb interrupts verbs in the middle of a recording that would take
// them long.
func TestOneInterruptEndsAReadingVerb(t *testing.T) {
	// A replay at a thousandth of the speed is in its middle for as long as the test needs.
	cmd := airtide("monitor", kernelRecording, "--speed", "0.001", "--interval", "1ms", "--json")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	guard := time.AfterFunc(hostileGuard, func() { _ = cmd.Process.Kill() })
	defer guard.Stop()
	if _, err := out.Read(make([]byte, 1)); err != nil { // it is under way
		t.Fatal(err)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_, _ = new(bytes.Buffer).ReadFrom(out)
	if err := cmd.Wait(); err != nil {
		exit, ok := err.(*exec.ExitError)
		if !ok || exit.ExitCode() < 0 {
			t.Errorf("an interrupt ends it with %v", err)
		}
	}
}

// TestOneInterruptEndsEachReadingVerb interrupts each verb while it works on a long recording, and
// on one of many flows. It may have ended before, and it leaves no part of its output.
func TestOneInterruptEndsEachReadingVerb(t *testing.T) {
	for _, of := range []struct {
		name        string
		flows, rows int
	}{{"long", 3, 400_000}, {"many flows", 200_000, 400_000}} {
		path := filepath.Join(t.TempDir(), "it.atr")
		data := recordingOf(t, trace.Metadata{}, func(w *trace.Writer) {
			for id := range tcp.FlowID(of.flows) {
				_ = w.Flow(hostileFlow(id + 1))
			}
			samplesOf(w, of.flows, of.rows, func(i int) int64 { return int64(i) * 1e6 })
		})
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		for _, verb := range readingVerbs {
			t.Run(of.name+"/"+strings.Join(verb, " "), func(t *testing.T) {
				interruptHostile(t, verb, strings.NewReplacer("FILE", path), 5)
				interruptHostile(t, verb, strings.NewReplacer("FILE", path), 100)
			})
		}
	}
}

// interruptHostile interrupts a verb while it works, behind some processor time. OUT in it is a
// file.
func interruptHostile(t *testing.T, verb []string, files *strings.Replacer, ticks int) {
	out := t.TempDir()
	args := slices.Clone(verb)
	for i := range args {
		args[i] = strings.ReplaceAll(files.Replace(args[i]), "OUT", filepath.Join(out, "x"))
	}
	cmd := airtide(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	ended := startVerb(t, cmd)
	guard := time.AfterFunc(hostileGuard, func() { _ = cmd.Process.Kill() })
	early := false
	testnet.Eventually(t, hostileGuard, "its work", func() bool {
		select {
		case <-ended:
			early = true
			return true
		default:
			return processorTicks(cmd.Process.Pid) >= ticks
		}
	})
	if !early {
		endByInterrupt(t, cmd, ended)
	}
	if !guard.Stop() {
		t.Fatalf("it takes more than %s", hostileGuard)
	}
	status := cmd.ProcessState.ExitCode()
	if atStart(cmd) {
		status = 130
	} else if status == 130 && !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("the end by an interrupt is not named: %.200s", stderr.Bytes())
	}
	refused := early && status == 1 // before the interrupt
	if status != 0 && status != 130 && !refused || bytes.Contains(stderr.Bytes(), []byte("goroutine ")) {
		t.Errorf("an interrupt ends it with %s: %.2000s", cmd.ProcessState, stderr.Bytes())
	}
	if left, err := os.ReadDir(out); err != nil || status == 130 && len(left) > 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
}
