package workload

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
)

// mostTransfers is more than the transfers of any flow.
const mostTransfers = 10_000_000

// curlArgs returns the common arguments of curl. It writes one line per transfer to its unbuffered
// standard error, so no line is lost when curl is killed. Each value costs a system call, and
// curl's own JSON needs 1500, which take as long as a short transfer in an emulated machine.
func (f *flow) curlArgs() []string {
	return []string{
		"--disable", "--noproxy", "*", "--silent", "--show-error", "--fail", "--fail-early", "--http1.1",
		"--connect-timeout", seconds(f.guestTime(f.options.ConnectTimeout)),
		"--output", "/dev/null", "--write-out", `%{stderr}` + curlFormat + `\n`,
	}
}

// httpArgs returns the arguments for http_put, http_get and transfers. One curl makes all requests
// of a flow with a size, one after another, over one connection. For transfers the server closes
// the connection after each answer.
func (f *flow) httpArgs(left time.Duration) ([]string, error) {
	args := f.curlArgs()
	size := int64(f.Flow.Size)
	document := zerosName
	if f.Flow.Protocol == plan.HTTPGet {
		if size > 0 {
			args = append(args, "--range", "0-"+strconv.FormatInt(size-1, 10))
		}
	} else {
		document = "upload"
		source := "/dev/zero"
		if size > 0 {
			var err error
			source, err = f.upload(size)
			if err != nil {
				return nil, err
			}
		}
		// Without the header curl would ask whether the server accepts more than 1 MB, and wait for
		// the answer.
		args = append(args, "--header", "Expect:", "--upload-file", source)
	}
	url := "http://" + hostPort(f.to.Address(), f.port) + "/" + document
	if size == 0 {
		return append(args, "--max-time", seconds(f.guestTime(left)), url), nil
	}
	count := mostTransfers
	if f.Flow.Transfers > 0 {
		count = f.Flow.Transfers
	}
	return append(args, fmt.Sprintf("%s?[1-%d]", url, count)), nil
}

// http runs http_put, http_get and transfers, with a curl for each connection of the flow.
func (f *flow) http(ctx context.Context, when period, r *outcome) error {
	return f.perConnection(r, func(i int, out *os.File, begun func()) error {
		args, err := f.httpArgs(time.Until(when.stop))
		if err != nil {
			return err
		}
		begun()
		p, err := f.client(args, nil, out)
		if err != nil {
			return err
		}
		// With a size, curl would continue with the next transfer, so it is killed, and its last
		// transfer does not count. Without a size, curl ends by itself.
		kill := when.stop
		if f.Flow.Size == 0 {
			kill = when.deadline.Add(time.Second)
		}
		e, err := f.await(ctx, p, kill, unix.SIGKILL, when.deadline)
		if err != nil {
			return err
		}
		reports, said, err := f.readCurl(out.Name())
		if err != nil {
			return err
		}
		return f.checkReports(reports, said, e)
	})
}

// perConnection calls run for each connection of the flow, with a file for curl's output, and sums
// the reports. run calls begun at the start of a transfer. Without this call a transfer starts at
// the end of the previous one.
func (f *flow) perConnection(r *outcome, run func(i int, out *os.File, begun func()) error) error {
	errs := make([]error, f.Flow.Parallel)
	files := make([]*os.File, f.Flow.Parallel)
	for i := range files {
		out, err := f.create(fmt.Sprintf("%s-curl-%d.txt", f.Name, i+1))
		if err != nil {
			return err
		}
		defer out.Close()
		files[i] = out
		r.addOutput(out.Name())
	}
	began := time.Now()
	starts := make([][]time.Duration, len(files))
	var all sync.WaitGroup
	for i := range files {
		begun := func() { starts[i] = append(starts[i], r.started+time.Since(began)) }
		all.Go(func() { errs[i] = run(i, files[i], begun) })
	}
	all.Wait()
	t := &traffic{duration: time.Since(began)}
	for i, out := range files {
		reports, _, err := f.readCurl(out.Name())
		if err != nil {
			return err
		}
		next := r.started
		for k, c := range reports {
			if k < len(starts[i]) {
				next = starts[i][k]
			}
			t.receivedBytes += c.bytes(f.Flow.Protocol)
			took := duration(c.TotalTime)
			if c.ExitCode == 0 {
				r.Transfers = append(r.Transfers, result.Transfer{
					AtS: next.Seconds(), TookS: took.Seconds(), Bytes: c.bytes(f.Flow.Protocol),
				})
			}
			next += took
		}
	}
	t.rateBps = float64(t.receivedBytes) * 8e9 / float64(max(1, t.duration))
	if f.Flow.Protocol == plan.HTTPGet || f.Flow.Protocol == plan.Web {
		r.reverse = t
	} else {
		r.forward = t
	}
	return firstOf(errs)
}

// firstOf joins errors and drops repeated messages, because the connections of a flow often fail in
// the same way.
func firstOf(errs []error) error {
	var different []error
	said := map[string]bool{}
	for _, err := range errs {
		if err != nil && !said[err.Error()] {
			said[err.Error()] = true
			different = append(different, err)
		}
	}
	return errors.Join(different...)
}

// curlTimedOut is curl's exit status for a time limit (libcurl-errors(3)).
const curlTimedOut = 28

// checkReports returns an error if a curl failed.
func (f *flow) checkReports(reports []curlReport, said string, e end) error {
	completed := 0
	for _, c := range reports {
		if c.ExitCode == 0 {
			completed++
			if f.Flow.Protocol == plan.Transfers && c.Connections != 1 {
				return fmt.Errorf(
					"curl from %s to %s opened %d connections for a transfer that should have one of its own",
					f.From, f.To, c.Connections)
			}
			continue
		}
		switch {
		case c.ConnectTime == 0:
			return f.unreached(reason(c.Message, e.err))
		case f.Flow.Size == 0 && c.ExitCode == curlTimedOut:
			return nil // the end of its time
		default:
			return f.failed(reason(c.Message, e.err))
		}
	}
	switch {
	case !e.signaled && e.err != nil:
		return f.failed(reason(said, e.err))
	case f.Flow.Size == 0:
		return f.failed(fmt.Sprintf("it ended before its stop: %s", reason(said, e.err)))
	case completed == 0:
		return f.failed(fmt.Sprintf("not one transfer of %s was completed until its stop", f.Flow.Size))
	}
	return nil
}

// curlReport is a line of curlFormat.
type curlReport struct {
	ExitCode    int
	Connections int // newly opened
	LocalPort   uint16
	ConnectTime float64 // s; 0 without a connection
	TotalTime   float64
	Uploaded    int64
	Downloaded  int64
	Message     string // "" unless it failed
}

// curlFormat is the format of curl's report of a transfer, in the order of curlReport. The message
// is last, because it contains spaces.
const curlFormat = `%{exitcode} %{num_connects} %{local_port} %{time_connect} %{time_total} ` +
	`%{size_upload} %{size_download} %{errormsg}`

// parseCurl parses a line of curlFormat. It reports false for other lines.
func parseCurl(line string) (c curlReport, ok bool) {
	fields := strings.SplitN(line, " ", 8)
	if len(fields) < 8 {
		return c, false
	}
	c.Message = fields[7]
	_, err := fmt.Sscan(line,
		&c.ExitCode, &c.Connections, &c.LocalPort, &c.ConnectTime, &c.TotalTime, &c.Uploaded, &c.Downloaded)
	return c, err == nil
}

func (c curlReport) bytes(p plan.Protocol) int64 {
	if p == plan.HTTPGet || p == plan.Web {
		return c.Downloaded
	}
	return c.Uploaded
}

// upload makes a file for curl to send, on curl's machine.
func (f *flow) upload(size int64) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), f.options.Grace)
	defer cancel()
	path := f.content.uploadPath(size)
	if err := f.from.MakeFile(ctx, path, size); err != nil {
		return "", fmt.Errorf("making a file of %d bytes to upload: %w", size, err)
	}
	return path, nil
}

// readCurl reads the reports of the flow's curl in real time, and its last other line.
func (f *flow) readCurl(path string) ([]curlReport, string, error) {
	reports, said, err := readCurl(path)
	for i := range reports {
		reports[i].ConnectTime /= f.from.ClockRate()
		reports[i].TotalTime /= f.from.ClockRate()
	}
	return reports, said, err
}

// readCurl reads the reports and curl's last other line. If curl was killed while writing a report,
// the report is incomplete.
func readCurl(path string) (reports []curlReport, said string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, "", fmt.Errorf("reading curl's output: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if c, ok := parseCurl(lines.Text()); ok {
			reports = append(reports, c)
		} else {
			said = lines.Text()
		}
	}
	if err := lines.Err(); err != nil {
		return nil, "", fmt.Errorf("reading curl's output: %w", err)
	}
	return reports, said, nil
}
