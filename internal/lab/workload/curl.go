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
)

// mostTransfers is more than there is ever time for.
const mostTransfers = 10_000_000

// curlArgs are those of every curl. It writes a line for each transfer to its standard error, which unlike its
// standard output is not buffered, so that what was written is there when curl is killed. For the same reason each value and each
// letter between two is a system call: curl's own JSON of all it knows has 1500, which in an emulated machine take as long
// as a short transfer.
func (f *flow) curlArgs() []string {
	return []string{
		"--disable", "--noproxy", "*", "--silent", "--show-error", "--fail", "--fail-early", "--http1.1",
		"--connect-timeout", seconds(f.from.warped(f.options.ConnectTimeout)),
		"--output", "/dev/null", "--write-out", `%{stderr}` + curlFormat + `\n`,
	}
}

// httpArgs are those for http_put, http_get and transfers. The requests of a flow with a size are those of one curl, which
// makes them one after another: over one connection, but for transfers, where the server closes each after its answer.
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
			if source, err = f.upload(size); err != nil {
				return nil, err
			}
		}
		// Without the header curl would ask first whether the server takes more than 1 MB, and wait for its answer.
		args = append(args, "--header", "Expect:", "--upload-file", source)
	}
	url := "http://" + hostPort(f.to.Address, f.port) + "/" + document
	if size == 0 {
		return append(args, "--max-time", seconds(f.from.warped(left)), url), nil
	}
	count := mostTransfers
	if f.Flow.Transfers > 0 {
		count = f.Flow.Transfers
	}
	return append(args, fmt.Sprintf("%s?[1-%d]", url, count)), nil
}

// http carries out http_put, http_get and transfers: a curl for each of the flow's connections.
func (f *flow) http(ctx context.Context, when span, r *Result) error {
	return f.each(r, func(i int, out *os.File, begun func()) error {
		args, err := f.httpArgs(time.Until(when.stop))
		if err != nil {
			return err
		}
		begun()
		p, err := f.client(args, nil, out)
		if err != nil {
			return err
		}
		// With a size, curl would go on: it is killed, and what it was at does not count. Without, it ends by itself.
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
		return f.judge(reports, said, e)
	})
}

// each calls carry for each of the flow's connections, with a file for what its curl says, and puts together what
// they report. carry calls begun at the start of a transfer; one of which it does not, began when the one before ended.
func (f *flow) each(r *Result, carry func(i int, out *os.File, begun func()) error) error {
	errs := make([]error, f.Flow.Parallel)
	files := make([]*os.File, f.Flow.Parallel)
	for i := range files {
		out, err := f.create(fmt.Sprintf("%s-curl-%d.txt", f.Name, i+1))
		if err != nil {
			return err
		}
		defer out.Close()
		files[i] = out
		r.Files = append(r.Files, out.Name())
	}
	began := time.Now()
	starts := make([][]int64, len(files))
	var all sync.WaitGroup
	for i := range files {
		begun := func() { starts[i] = append(starts[i], r.StartNs+time.Since(began).Nanoseconds()) }
		all.Go(func() { errs[i] = carry(i, files[i], begun) })
	}
	all.Wait()
	t := &Traffic{DurationNs: time.Since(began).Nanoseconds()}
	for i, out := range files {
		reports, _, err := f.readCurl(out.Name())
		if err != nil {
			return err
		}
		next := r.StartNs
		for k, c := range reports {
			if k < len(starts[i]) {
				next = starts[i][k]
			}
			t.ReceivedBytes += c.bytes(f.Flow.Protocol)
			if c.ExitCode == 0 {
				transfer := c.transfer(i, f.Flow.Protocol)
				transfer.StartNs = next
				r.Transfers = append(r.Transfers, transfer)
			}
			next += nanoseconds(c.TotalTime)
		}
	}
	t.SentBytes = t.ReceivedBytes
	t.RateBps = float64(t.ReceivedBytes) * 8e9 / float64(max(1, t.DurationNs))
	if f.Flow.Protocol == plan.HTTPGet || f.Flow.Protocol == plan.Web {
		r.Reverse = t
	} else {
		r.Forward = t
	}
	return firstOf(errs)
}

// firstOf joins errors that say the same: the connections of a flow fail alike.
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

// curl's exit status for a time limit (libcurl-errors(3)).
const curlTimedOut = 28

// judge says whether a curl did what it should.
func (f *flow) judge(reports []curlReport, said string, e end) error {
	completed := 0
	for _, c := range reports {
		if c.ExitCode == 0 {
			completed++
			if f.Flow.Protocol == plan.Transfers && c.Connections != 1 {
				return fmt.Errorf("curl from %s to %s opened %d connections for a transfer that should have one of its own", f.From, f.To, c.Connections)
			}
			continue
		}
		switch {
		case c.ConnectTime == 0:
			return f.unreached(words(c.Message, e.err))
		case f.Flow.Size == 0 && c.ExitCode == curlTimedOut:
			return nil // the end of its time
		default:
			return f.failed(words(c.Message, e.err))
		}
	}
	switch {
	case !e.signaled && e.err != nil:
		return f.failed(words(said, e.err))
	case f.Flow.Size == 0:
		return f.failed(fmt.Sprintf("it ended before its stop: %s", words(said, e.err)))
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
	ConnectTime float64 // s; 0 where there never was a connection
	TotalTime   float64
	Uploaded    int64
	Downloaded  int64
	Message     string // "" unless it failed
}

// curlFormat is what curl writes of a transfer, in the order of curlReport; the message, which has spaces, is the last.
const curlFormat = `%{exitcode} %{num_connects} %{local_port} %{time_connect} %{time_total} %{size_upload} %{size_download} %{errormsg}`

// parseCurl reads a line of curlFormat, and says whether it is one.
func parseCurl(line string) (c curlReport, ok bool) {
	words := strings.SplitN(line, " ", 8)
	if len(words) < 8 {
		return c, false
	}
	c.Message = words[7]
	_, err := fmt.Sscan(line, &c.ExitCode, &c.Connections, &c.LocalPort, &c.ConnectTime, &c.TotalTime, &c.Uploaded, &c.Downloaded)
	return c, err == nil
}

func (c curlReport) bytes(p plan.Protocol) int64 {
	if p == plan.HTTPGet || p == plan.Web {
		return c.Downloaded
	}
	return c.Uploaded
}

func (c curlReport) transfer(connection int, p plan.Protocol) Transfer {
	t := Transfer{Connection: connection, Bytes: c.bytes(p), DurationNs: nanoseconds(c.TotalTime), LocalPort: c.LocalPort}
	if c.Connections > 0 {
		t.ConnectNs = nanoseconds(c.ConnectTime)
	}
	return t
}

// upload makes a file for curl to send, where curl runs.
func (f *flow) upload(size int64) (string, error) {
	if f.from.Guest == nil {
		return f.content.upload(size)
	}
	path := fmt.Sprintf("/tmp/upload-%d", size)
	ctx, cancel := context.WithTimeout(context.Background(), f.options.Grace)
	defer cancel()
	return path, f.from.Guest.MakeFile(ctx, path, nil, size)
}

// readCurl reads the reports of the flow's curl in real time, and what else it said.
func (f *flow) readCurl(path string) ([]curlReport, string, error) {
	reports, said, err := readCurl(path)
	for i := range reports {
		reports[i].ConnectTime /= f.from.clock()
		reports[i].TotalTime /= f.from.clock()
	}
	return reports, said, err
}

// readCurl reads the reports, and what else curl said last. A report that is cut off is of a curl that was killed as it wrote.
func readCurl(path string) (reports []curlReport, said string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, "", fmt.Errorf("reading what curl said: %w", err)
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
		return nil, "", fmt.Errorf("reading what curl said: %w", err)
	}
	return reports, said, nil
}
