package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"airtide/internal/recording/record"
	"airtide/test/bench/benchbpf"
	"airtide/test/bench/benchnet"
)

// tool is one way to observe. A nil start is no observation at all.
type tool struct {
	name string
	// command is started before the traffic and interrupted after it; its output goes to output.
	command []string
	output  string
	// settle is the time until it observes.
	settle time.Duration
	// perSegment means that it looks at each segment. Its cost is then printed per segment.
	perSegment bool
	// countsMissed means that it counts the records that were never made.
	countsMissed bool
	// read counts its records. stdout is the tool's own.
	read func(output string, stdout []byte) (account, error)
}

// account holds a tool's counts of its records.
type account struct {
	records uint64
	lost    uint64 // made and not delivered
	missed  uint64 // never made: the kernel leaves out a program that is running already on that processor
}

// bpftraceProgram prints the fields of a sample that tcp:tcp_probe offers.
const bpftraceProgram = `tracepoint:tcp:tcp_probe {
	printf("%lld %d %d %d %d %u %u %u %u %u %u %u %llu\n", nsecs, args->family, args->sport, args->dport,
		args->data_len,
		args->snd_nxt, args->snd_una, args->snd_cwnd, args->ssthresh, args->snd_wnd, args->srtt, args->rcv_wnd,
		args->sock_cookie);
}`

// bpftraceFormat is one string, since bpftrace joins none.
const bpftraceFormat = "%llu %llu %d %d %d %u %u %u %u %u %u %u %u %u %u %u %u %u %u %u %u %u %u %u %u %u %u " +
	"%llu %llu %llu %u %u %u %u %u %u %u %u %u %u %u %u %u %d %d %d %d %d %d %d %llu %u %u %u"

// bpftraceSample prints a sample without the values that user space computes and without the
// congestion control's private state.
const bpftraceSample = `tracepoint:tcp:tcp_probe {
	$tp = (struct tcp_sock *)args->skaddr;
	printf("` + bpftraceFormat + `\n",
		nsecs, args->sock_cookie, args->sport, args->dport, args->data_len,
		$tp->snd_cwnd, $tp->snd_ssthresh, $tp->packets_out, $tp->lost_out, $tp->sacked_out, $tp->retrans_out,
		$tp->reordering, $tp->mss_cache, $tp->srtt_us, $tp->mdev_us, $tp->rack.rtt_us, $tp->rtt_min.s[0].v,
		$tp->rcv_rtt_est.rtt_us, $tp->inet_conn.icsk_rto, $tp->inet_conn.icsk_backoff, $tp->snd_wnd, $tp->rcv_wnd,
		$tp->snd_una, $tp->snd_nxt, $tp->write_seq, $tp->rcv_nxt, $tp->copied_seq, $tp->bytes_acked,
		$tp->bytes_received, $tp->bytes_retrans, $tp->delivered, $tp->delivered_ce, $tp->lost, $tp->total_retrans,
		$tp->dsack_dups, $tp->reord_seen, $tp->rcv_ooopack, $tp->rate_delivered, $tp->rate_interval_us,
		$tp->chrono_start, $tp->chrono_stat[0], $tp->chrono_stat[1], $tp->chrono_stat[2],
		$tp->inet_conn.icsk_inet.sk.sk_backlog.len, $tp->inet_conn.icsk_inet.sk.sk_sndbuf,
		$tp->inet_conn.icsk_inet.sk.sk_rcvbuf, $tp->inet_conn.icsk_inet.sk.sk_wmem_queued,
		$tp->inet_conn.icsk_inet.sk.sk_forward_alloc, $tp->inet_conn.icsk_inet.sk.sk_wmem_alloc.refs.counter,
		$tp->inet_conn.icsk_inet.sk.sk_backlog.rmem_alloc.counter, $tp->inet_conn.icsk_inet.sk.sk_pacing_rate,
		$tp->inet_conn.icsk_inet.sk.__sk_common.skc_state, $tp->inet_conn.icsk_inet.sk.__sk_common.skc_family,
			args->snd_wnd);
}`

func airtideTool(s settings) tool {
	return recorder("airtide record, every ACK", s.airtide, s, strings.Fields(s.args)...)
}

// recorder is a recording of every ACK by one binary.
func recorder(name, binary string, s settings, more ...string) tool {
	out := filepath.Join(s.dir, "airtide.atr")
	return tool{
		name: name, perSegment: true, countsMissed: true, settle: 2500 * time.Millisecond, output: out,
		command: append([]string{binary, "record", "--force", "--source", "bpf", "--json", "-o", out}, more...),
		read:    func(_ string, stdout []byte) (account, error) { return readResult(stdout) },
	}
}

// readResult takes the account out of the output of airtide record --json.
func readResult(stdout []byte) (account, error) {
	var r record.Result
	if err := json.Unmarshal(stdout, &r); err != nil {
		return account{}, fmt.Errorf("reading airtide's result: %w", err)
	}
	return account{records: r.Samples, lost: r.Loss.Total() - r.Loss.Missed, missed: r.Loss.Missed}, nil
}

func tools(s settings) []tool {
	bpftraceOut := filepath.Join(s.dir, "bpftrace.txt")
	perfOut := filepath.Join(s.dir, "perf.data")
	ssOut := filepath.Join(s.dir, "ss.txt")
	all := []tool{
		{name: "nothing"},
		airtideTool(s),
		recorder("airtide record, every ACK, --with all", s.airtide, s, "--with", "all"),
		bpftraceTool("bpftrace, the fields of a sample", bpftraceSample, bpftraceOut),
		bpftraceTool("bpftrace, the tracepoint's own 13 fields", bpftraceProgram, bpftraceOut),
		{
			name: "perf record tcp:tcp_probe", perSegment: true, settle: 2500 * time.Millisecond, output: perfOut,
			command: []string{"perf", "record", "-q", "-a", "-m", "16M", "-e", "tcp:tcp_probe", "-o", perfOut},
			read:    func(output string, _ []byte) (account, error) { return countPerf(output) },
		},
		{
			name: "ss -tinm every 10 ms", settle: 500 * time.Millisecond, output: ssOut,
			command: []string{"sh", "-c", "while :; do ss -tinmN " + "NS" + " >>" + ssOut + "; sleep 0.01; done"},
			read:    func(string, []byte) (account, error) { return account{}, nil },
		},
	}
	if s.beside != "" {
		all = append(all, recorder("airtide record, every ACK, of "+s.beside, s.beside, s, strings.Fields(s.args)...))
	}
	return slices.DeleteFunc(all, func(t tool) bool { return t.command != nil && !strings.Contains(t.name, s.only) })
}

func bpftraceTool(name, program, out string) tool {
	return tool{
		name: name, perSegment: true, settle: 2500 * time.Millisecond, output: out,
		command: []string{"bpftrace", "-o", out, "-e", program},
		read:    func(output string, _ []byte) (account, error) { return countBpftrace(output) },
	}
}

// result is the result of one run.
type result struct {
	rate     float64 // bit/s of the traffic
	segments uint64  // segments that TCP received at both ends, after the kernel merged some
	duration time.Duration
	account
	watched         uint64 // segments received while the tool observed, those of the second with statistics included
	bytes           int64
	userCPU, sysCPU time.Duration
	bpfTime         time.Duration // time of the tool's programs
	bpfRuns         uint64
	bpfFloor        float64 // ns per run that the statistics show for a program that does nothing
}

func (r result) seconds() float64 { return r.duration.Seconds() }

// samplesPerSegment is 1 when each segment became a record.
func (r result) samplesPerSegment() float64 { return float64(r.records) / float64(max(r.watched, 1)) }

func (r result) missedPerMillion() float64 {
	return float64(r.missed) / float64(max(r.watched, 1)) * 1e6
}

func (r result) bytesPerRecord() float64 { return float64(r.bytes) / float64(max(r.records, 1)) }
func (r result) kernelNs() float64       { return float64(r.bpfTime) / float64(max(r.bpfRuns, 1)) }

// userNs is user CPU per segment that was looked at.
func (r result) userNs() float64 { return float64(r.userCPU) / float64(max(r.segments, 1)) }
func (r result) sysNs() float64  { return float64(r.sysCPU) / float64(max(r.segments, 1)) }

// totalNs is all that a segment costs, in the kernel and in user space.
func (r result) totalNs() float64 { return r.kernelNs() + r.userNs() + r.sysNs() }

// keptNs is the cost of a record that was not lost, in ns.
func (r result) keptNs() float64 {
	return r.totalNs() * float64(r.records+r.lost) / float64(max(r.records, 1))
}

// measure runs the traffic twice under the tool: once as it is, for rate, records and CPU, and once
// for a second with the kernel's BPF statistics on, which cost something themselves.
func measure(ctx context.Context, net *benchnet.Pair, t tool, l load, seconds int) (result, error) {
	var r result
	if t.command == nil {
		// As long a pause as the others need to start: the traffic finds the machine in the same
		// state.
		time.Sleep(2500 * time.Millisecond)
		return r, r.transfer(ctx, net, l, seconds)
	}
	_ = os.Remove(t.output)
	before, err := benchbpf.Programs()
	if err != nil {
		return r, err
	}
	args := make([]string, len(t.command))
	for i, a := range t.command {
		args[i] = strings.ReplaceAll(a, "NS", net.Client)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var stdout, stderr bytes.Buffer
	cmd.Stdout = &stdout
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		return r, fmt.Errorf("starting: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return r, fmt.Errorf("ended by itself: %w: %s", errors.Join(err), strings.TrimSpace(stderr.String()))
	case <-time.After(t.settle):
	}

	segments, err := net.Processed()
	if err != nil {
		return r, err
	}
	user, sys := groupCPU(cmd.Process.Pid)
	if err := r.transfer(ctx, net, l, seconds); err != nil {
		return r, err
	}
	userEnd, sysEnd := groupCPU(cmd.Process.Pid)
	r.userCPU = userEnd - user
	r.sysCPU = sysEnd - sys
	if t.perSegment {
		r.bpfTime, r.bpfRuns, r.bpfFloor, err = bpfCost(ctx, net, before, l)
		if err != nil {
			return r, err
		}
	}
	watched, err := net.Processed()
	if err != nil {
		return r, err
	}
	r.watched = watched - segments
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGINT)
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
	}
	r.account, err = t.read(t.output, stdout.Bytes())
	if err != nil {
		return r, err
	}
	if st, err := os.Stat(t.output); err == nil {
		r.bytes = st.Size()
	}
	return r, os.Remove(t.output)
}

// transfer runs the traffic, and counts the segments that TCP looked at meanwhile.
func (r *result) transfer(ctx context.Context, net *benchnet.Pair, l load, seconds int) error {
	before, err := net.Processed()
	if err != nil {
		return err
	}
	r.duration = time.Duration(seconds) * time.Second
	r.rate, err = net.Transfer(ctx, l.Load, seconds)
	if err != nil {
		return err
	}
	// Records on their way to the tool belong to this run.
	time.Sleep(300 * time.Millisecond)
	after, err := net.Processed()
	r.segments = after - before
	return err
}

// bpfCost sums the run time of the programs that are new since before, over a second of traffic
// with statistics on. Only the one that runs per segment counts runs. floor is the time
// of an empty program on the same tracepoint, by the statistics: the cost of measuring. total
// includes it.
func bpfCost(ctx context.Context, net *benchnet.Pair, before map[ebpf.ProgramID]bool, l load) (total time.Duration,
	n uint64, floor float64, err error,
) {
	stats, err := ebpf.EnableStats(unix.BPF_STATS_RUN_TIME)
	if err != nil {
		return 0, 0, 0, fmt.Errorf("turning BPF statistics on: %w", err)
	}
	defer stats.Close()
	empty, detach, err := attachEmpty()
	if err != nil {
		return 0, 0, 0, err
	}
	defer detach()
	info, err := empty.Info()
	if err != nil {
		return 0, 0, 0, fmt.Errorf("reading the empty program's id: %w", err)
	}
	if id, ok := info.ID(); ok {
		before[id] = true
	}
	if _, err := net.Transfer(ctx, l.Load, 1); err != nil {
		return 0, 0, 0, err
	}
	floor, err = perRun(empty)
	if err != nil {
		return 0, 0, 0, err
	}
	all, err := benchbpf.Runs(before)
	if err != nil {
		return 0, 0, 0, err
	}
	var runs uint64
	for _, one := range all {
		total += one.Time
		runs = max(runs, one.Runs)
	}
	return total, runs, floor, nil
}

// attachEmpty puts a program that does nothing on tcp_probe.
func attachEmpty() (*ebpf.Program, func(), error) {
	prog, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "bench_empty", Type: ebpf.Tracing, AttachType: ebpf.AttachTraceRawTp, AttachTo: "tcp_probe",
		License:      "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 0), asm.Return()},
	})
	if err != nil {
		return nil, nil, fmt.Errorf("loading an empty program: %w", err)
	}
	l, err := link.AttachTracing(link.TracingOptions{Program: prog})
	if err != nil {
		prog.Close()
		return nil, nil, fmt.Errorf("attaching an empty program: %w", err)
	}
	return prog, func() { l.Close(); prog.Close() }, nil
}

func perRun(p *ebpf.Program) (float64, error) {
	st, err := p.Stats()
	if err != nil {
		return 0, fmt.Errorf("reading BPF statistics: %w", err)
	}
	return float64(st.Runtime) / float64(max(st.RunCount, 1)), nil
}

// clockTick is USER_HZ, which Linux fixes at 100 for user space.
const clockTick = 10 * time.Millisecond

// groupCPU is the CPU time of all processes of the group, ended children included.
func groupCPU(group int) (user, sys time.Duration) {
	processes, _ := procfs.AllProcs()
	for _, p := range processes {
		s, err := p.Stat()
		if err != nil || s.PGRP != group {
			continue
		}
		user += time.Duration(int(s.UTime)+s.CUTime) * clockTick
		sys += time.Duration(int(s.STime)+s.CSTime) * clockTick
	}
	return user, sys
}

var lostEvents = regexp.MustCompile(`Lost (\d+) events`)

// countBpftrace counts lines and the reports of lost events in between.
func countBpftrace(path string) (a account, err error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return a, fmt.Errorf("reading bpftrace's output: %w", err)
	}
	a.records = uint64(strings.Count(string(raw), "\n"))
	for _, m := range lostEvents.FindAllStringSubmatch(string(raw), -1) {
		n, _ := strconv.ParseUint(m[1], 10, 64)
		a.lost += n
	}
	return a, nil
}

var perfCount = regexp.MustCompile(`(?m)^\s*(SAMPLE|LOST|LOST_SAMPLES) events:\s+(\d+)`)

// countPerf asks perf itself.
func countPerf(path string) (a account, err error) {
	out, err := exec.Command("perf", "report", "--stats", "-i", path).Output()
	if err != nil {
		return a, fmt.Errorf("perf report: %w", err)
	}
	seen := map[string]bool{}
	for _, m := range perfCount.FindAllStringSubmatch(string(out), -1) {
		if seen[m[1]] {
			continue // the first are those of all events together, then come those of each
		}
		seen[m[1]] = true
		n, _ := strconv.ParseUint(m[2], 10, 64)
		if m[1] == "SAMPLE" {
			a.records += n
		} else {
			a.lost += n
		}
	}
	return a, nil
}
