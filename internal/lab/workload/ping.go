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
	"airtide/internal/lab/result"
)

// ping sends requests until the flow's stop, and then waits for the last answers.
func (f *flow) ping(ctx context.Context, when period, r *outcome) error {
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
	r.addOutput(out.Name())
	patience := f.options.Grace / 2 // then ping gets a signal to print its summary
	p, err := f.client([]string{
		"-n", "-c", strconv.Itoa(count), "-i", seconds(f.guestTime(interval)), "-s",
		strconv.FormatInt(int64(f.Flow.Length), 10),
		"-W", seconds(f.guestTime(patience)), f.to.Address().String(),
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
	answers, ok := readPing(string(text))
	if !ok {
		return f.failed(reason(machine.Tail(out.Name()), e.err))
	}
	r.Pings = &result.Pings{Sent: answers.sent, Received: answers.received}
	for _, a := range answers.all {
		at := r.started + time.Duration(a.sequence-1)*interval
		rtt := time.Duration(float64(a.rtt) / f.from.ClockRate())
		r.Pings.RTTs = append(r.Pings.RTTs, result.Echo{AtS: at.Seconds(), Ms: float64(rtt) / 1e6})
	}
	if answers.received == 0 {
		return f.unreached(
			"no answer to " + strconv.FormatInt(answers.sent, 10) + " requests: " + reason(
				machine.Tail(out.Name()), e.err,
			),
		)
	}
	return nil
}

var (
	pingAnswer  = regexp.MustCompile(`(?m)^\d+ bytes from .*icmp_seq=(\d+) .*time=([0-9.]+) ms$`)
	pingSummary = regexp.MustCompile(`(?m)^(\d+) packets transmitted, (\d+) received`)
)

// pingAnswers is the parsed output of ping.
type pingAnswers struct {
	sent, received int64
	all            []answer // in the order of their arrival
}

type answer struct {
	sequence int64 // the request's number, counted from 1
	rtt      time.Duration
}

// readPing parses the output of iputils' ping. It reports false if the output has no summary and so
// is incomplete. It ignores duplicate answers, because ping marks them.
func readPing(text string) (p pingAnswers, ok bool) {
	summary := pingSummary.FindStringSubmatch(text)
	if summary == nil {
		return p, false
	}
	p.sent, _ = strconv.ParseInt(summary[1], 10, 64) // digits
	p.received, _ = strconv.ParseInt(summary[2], 10, 64)
	for _, m := range pingAnswer.FindAllStringSubmatch(text, -1) {
		sequence, _ := strconv.ParseInt(m[1], 10, 64)
		ms, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return p, false
		}
		p.all = append(p.all, answer{sequence, duration(ms / 1e3)})
	}
	return p, true
}
