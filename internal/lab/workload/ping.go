package workload

import (
	"context"
	"math"
	"os"
	"regexp"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/lab/machine"
)

// ping sends requests until the flow's stop, and waits for the last answers.
func (f *flow) ping(ctx context.Context, when span, r *Result) error {
	interval := time.Duration(f.Flow.Interval)
	count := max(1, int(math.Ceil(float64(time.Until(when.stop))/float64(interval))))
	if f.Flow.Transfers > 0 {
		count = min(count, f.Flow.Transfers)
	}
	out, err := f.create(f.Name + "-ping.txt")
	if err != nil {
		return err
	}
	defer out.Close()
	r.Files = append(r.Files, out.Name())
	patience := f.options.Grace / 2 // then ping is asked to sum up
	p, err := f.client([]string{
		"-n", "-c", strconv.Itoa(count), "-i", seconds(f.from.warped(interval)), "-s", strconv.FormatInt(int64(f.Flow.Length), 10),
		"-W", seconds(f.from.warped(patience)), f.to.Address.String(),
	}, out, out)
	if err != nil {
		return err
	}
	e, err := f.await(ctx, p, when.stop.Add(patience), unix.SIGINT, when.deadline)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(out.Name())
	if err != nil {
		return err
	}
	pings, ok := readPing(string(text))
	if !ok {
		return f.failed(words(machine.Tail(out.Name()), e.err))
	}
	for i := range pings.RTTs {
		pings.RTTs[i].Ns = int64(float64(pings.RTTs[i].Ns) / f.from.clock())
	}
	if r.Ping = pings; pings.Received == 0 {
		return f.unreached("no answer to " + strconv.FormatInt(pings.Sent, 10) + " requests: " + words(machine.Tail(out.Name()), e.err))
	}
	return nil
}

var (
	pingAnswer  = regexp.MustCompile(`(?m)^\d+ bytes from .*icmp_seq=(\d+) .*time=([0-9.]+) ms$`)
	pingSummary = regexp.MustCompile(`(?m)^(\d+) packets transmitted, (\d+) received`)
)

// readPing takes the output of iputils' ping apart. Without its summary it is not whole. An answer that came twice is
// marked by ping, and does not match.
func readPing(text string) (*Pings, bool) {
	summary := pingSummary.FindStringSubmatch(text)
	if summary == nil {
		return nil, false
	}
	p := &Pings{RTTs: []RTT{}}
	p.Sent, _ = strconv.ParseInt(summary[1], 10, 64) // digits
	p.Received, _ = strconv.ParseInt(summary[2], 10, 64)
	for _, m := range pingAnswer.FindAllStringSubmatch(text, -1) {
		sequence, _ := strconv.ParseInt(m[1], 10, 64)
		ms, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return nil, false
		}
		p.RTTs = append(p.RTTs, RTT{sequence, nanoseconds(ms / 1e3)})
	}
	return p, true
}
