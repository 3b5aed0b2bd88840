package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"airtide/internal/recording/trace"
	"airtide/internal/sys/file"
	"airtide/internal/tcp"
	"airtide/test/cause"
)

// speedFile has the results of -speed in the folder of recordings.
const speedFile = "speed.md"

const (
	speedSamples = 10_000_000
	speedFlows   = 100
	speedBatch   = 1000
)

// speed measures the time of a diagnosis of many samples on one processor, and that of the first
// answer with a connection.
func speed(ctx context.Context, folder string) error {
	scratch, err := os.MkdirTemp("", "airtide-speed-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	programs, err := cause.Build(ctx, scratch)
	if err != nil {
		return err
	}
	path := filepath.Join(scratch, "long.atr")
	if err := writeLong(path); err != nil {
		return err
	}
	diagnose := exec.CommandContext(ctx, programs.Airtide, "diagnose", path, "--json")
	diagnose.Env = append(os.Environ(), "GOMAXPROCS=1")
	begun := time.Now()
	if out, err := diagnose.Output(); err != nil || !bytes.Contains(out, []byte(`"bounded cwnd"`)) {
		return fmt.Errorf("diagnose: %w", errors.Join(err, errors.New("it names no bounded window")))
	}
	took := time.Since(begun)
	used := diagnose.ProcessState.UserTime() + diagnose.ProcessState.SystemTime()
	first, err := firstAnswer(ctx, programs)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("\n## Speed\n\n\"-speed\" measured once, on a virtual machine that others used, too.\n\n"+
		"| measure | value | target |\n|---|---|---|\n"+
		"| `diagnose` on %d million samples of %d connections, GOMAXPROCS=1 "+
		"| %.1f s, %.1f s of processor time | 5 s |\n"+
		"| first answer of `diagnose --live` with a connection, from its start | %.1f s | 3 s |\n",
		speedSamples/1_000_000, speedFlows, took.Seconds(), used.Seconds(), first.Seconds())
	fmt.Print(text)
	return file.Write(filepath.Join(folder, speedFile), []byte(text), 0o644)
}

// writeLong writes a recording of connections with full windows.
func writeLong(path string) (err error) {
	w, err := trace.Create(path, trace.Metadata{}, trace.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	for id := range tcp.FlowID(speedFlows) {
		if err := w.Flow(&tcp.Flow{ID: id + 1, CongestionControl: "cubic", FirstNs: 1e9}); err != nil {
			return err
		}
	}
	var row tcp.Sample
	for f := range row.Values {
		row.Values[f] = 0
	}
	row.Values[tcp.MSSBytes] = 1448
	row.Values[tcp.CwndPackets] = 20
	row.Values[tcp.InFlightPackets] = 20
	row.Values[tcp.SsthreshPackets] = 10
	row.Values[tcp.CwndLimited] = 1
	row.Values[tcp.SrttUs] = 20_000
	row.Values[tcp.SendWindowBytes] = 1 << 20
	row.Values[tcp.SendBufferBytes] = 1 << 20
	row.Values[tcp.StateField] = int64(tcp.StateEstablished)
	b := tcp.NewBatch(speedBatch)
	for i := range int64(speedSamples) {
		sent := i / speedFlows * 2896
		row.Flow = tcp.FlowID(i%speedFlows + 1)
		row.TimeNs = 1e9 + i*10_000
		row.Values[tcp.AckedBytes] = sent
		row.Values[tcp.SentBytes] = sent + 20*1448
		row.Values[tcp.WrittenBytes] = sent + 60*1448
		row.Values[tcp.DeliveredPackets] = i / speedFlows * 2
		row.Values[tcp.BusyUs] = i * 10
		row.Values[tcp.RttUs] = 20_000 + i%500
		row.Values[tcp.PacingRateBps] = 40_000_000
		b.Append(&row)
		if b.Len() < speedBatch {
			continue
		}
		if err := w.Samples(b); err != nil {
			return err
		}
		b.Reset()
	}
	return nil
}

// firstAnswer is the time from the start of diagnose --live to its first answer with the limit of a
// connection.
func firstAnswer(ctx context.Context, p cause.Programs) (time.Duration, error) {
	plan := `{"for":20000000000,"write_bytes":1000,"every":10000000}`
	serve := exec.CommandContext(ctx, p.Traffic, "server", plan)
	ready, err := serve.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := serve.Start(); err != nil {
		return 0, err
	}
	defer interrupt(serve)
	if _, err := bufio.NewReader(ready).ReadString('\n'); err != nil {
		return 0, err
	}
	drive := exec.CommandContext(ctx, p.Traffic, "client", "127.0.0.1", plan)
	if err := drive.Start(); err != nil {
		return 0, err
	}
	defer interrupt(drive)
	live := exec.CommandContext(ctx, p.Airtide, "diagnose", "--live", "--host", "127.0.0.1")
	out, err := live.StdoutPipe()
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	if err := live.Start(); err != nil {
		return 0, err
	}
	defer interrupt(live)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if bytes.Contains(lines.Bytes(), []byte("limited by")) {
			return time.Since(begun), nil
		}
	}
	return 0, errors.New("diagnose --live gave no answer")
}

func interrupt(cmd *exec.Cmd) {
	_ = cmd.Process.Signal(syscall.SIGINT)
	_ = cmd.Wait()
}
