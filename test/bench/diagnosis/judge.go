package main

import (
	"context"
	"fmt"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"airtide/internal/diagnose"
	"airtide/internal/recording/trace"
	"airtide/test/cause"
)

// end is the place and the source of a recording's view.
type end int

const (
	atSender end = iota
	atReceiver
	polled
	numEnds
)

func (e end) String() string { return [...]string{"sender", "receiver", "polled sender"}[e] }

// judged is one phase of one recording at one end.
type judged struct {
	situation string
	seed      uint64
	end       end
	change    bool   // the situation has several causes
	want      string // alternatives, separated by a bar
	got       diagnose.Limit
	certainty diagnose.Certainty
	share     float64 // part of the phase with a wanted limit
}

func (j *judged) right() bool { return slices.Contains(strings.Split(j.want, "|"), j.got.String()) }

// judge diagnoses all recordings of a folder.
func judge(ctx context.Context, folder string, seeds uint64) ([]judged, error) {
	var all []judged
	for seed := uint64(1); seed <= seeds; seed++ {
		for _, s := range cause.Suite(seed) {
			path := filepath.Join(folder, fmt.Sprintf("%s-%d.atr", s.Name, seed))
			if _, err := os.Stat(path); err != nil {
				continue
			}
			found, err := judgeOne(ctx, &s, seed, path)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			all = append(all, found...)
		}
	}
	return all, nil
}

// judgeOne judges the recordings of one situation.
func judgeOne(ctx context.Context, s *cause.Situation, seed uint64, path string) ([]judged, error) {
	sender, receiver := netip.MustParseAddr("10.1.0.1"), netip.MustParseAddr("10.2.0.1")
	if s.Plan.Down {
		swapped := sender
		sender = receiver
		receiver = swapped
	}
	report, err := diagnosis(ctx, path)
	if err != nil {
		return nil, err
	}
	var all []judged
	add := func(r *diagnose.Report, of netip.Addr, e end, want []string) {
		if c := largest(r, of); c != nil && len(want) > 0 {
			all = append(all, phases(s, seed, e, c, want)...)
		}
	}
	add(report, sender, atSender, s.Limits)
	add(report, receiver, atReceiver, s.Receiver)
	if _, err := os.Stat(path + cause.PolledSuffix); err == nil && !s.Plan.Down && s.Plan.Connections == 0 {
		byPolling, err := diagnosis(ctx, path+cause.PolledSuffix)
		if err != nil {
			return nil, err
		}
		add(byPolling, sender, polled, s.Limits)
	}
	return all, nil
}

func diagnosis(ctx context.Context, path string) (*diagnose.Report, error) {
	r, err := trace.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	o := diagnose.Options{}
	if r.Metadata().Source == "diag" {
		o.Source = diagnose.Polled
	}
	engine := diagnose.New(o)
	if err := r.Scan(ctx, trace.ScanOptions{Fields: diagnose.Fields()}, engine); err != nil {
		return nil, err
	}
	report := engine.Report()
	return &report, nil
}

// largest is the connection of an address with the most bytes.
func largest(r *diagnose.Report, of netip.Addr) *diagnose.Connection {
	var best *diagnose.Connection
	for i := range r.Connections {
		c := &r.Connections[i]
		if c.Local.Addr().Unmap() == of &&
			(best == nil || c.AckedBytes+c.ReceivedBytes > best.AckedBytes+best.ReceivedBytes) {
			best = c
		}
	}
	return best
}

// edgeNs is the time around a change of the cause that does not count.
const edgeNs = 750e6

// phases compares the connection with each wanted cause.
func phases(s *cause.Situation, seed uint64, e end, c *diagnose.Connection, want []string) []judged {
	if len(want) == 1 {
		j := judged{situation: s.Name, seed: seed, end: e, want: want[0], got: c.Limit, certainty: c.Certainty}
		for _, x := range c.Shares {
			if slices.Contains(strings.Split(j.want, "|"), x.Limit.String()) {
				j.share += x.Share
			}
		}
		return []judged{j}
	}
	var all []judged
	from := c.StartNs
	for i, w := range want {
		to := from + s.Plan.Phases[i].For.Nanoseconds()
		j := judged{situation: s.Name, seed: seed, end: e, change: true, want: w}
		var most, sum float64
		for k := range c.Phases {
			p := &c.Phases[k]
			overlap := float64(min(p.EndNs, to-edgeNs) - max(p.StartNs, from+edgeNs))
			if overlap <= 0 {
				continue
			}
			sum += overlap
			if slices.Contains(strings.Split(w, "|"), p.Limit.String()) {
				j.share += overlap
			}
			if overlap > most {
				most = overlap
				j.got = p.Limit
				j.certainty = p.Certainty
			}
		}
		j.share /= math.Max(1, sum)
		all = append(all, j)
		from = to
	}
	return all
}
