package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"airtide/internal/diagnose"
	"airtide/internal/packets/conn"
	"airtide/internal/packets/endpoint"
	"airtide/internal/packets/read"
	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
	"airtide/test/cause"
)

// end is the place and the source of a recording's view.
type end int

const (
	atSender end = iota
	atReceiver
	bothEnds
	polled
	capturedAtSender
	capturedAtReceiver
	bothCaptures
	numEnds
)

func (e end) String() string {
	return [...]string{
		"sender", "receiver", "both ends", "polled sender", "capture at the sender", "capture at the receiver",
		"captures of both ends",
	}[e]
}

// judged is one phase of one recording at one end.
type judged struct {
	situation string
	kind      cause.Kind
	seed      uint64
	end       end
	change    bool   // the situation has several causes
	want      string // alternatives, separated by a bar
	got       diagnose.Limit
	certainty diagnose.Certainty
	share     float64 // part of the phase with a wanted limit
}

func (j *judged) right() bool { return j.wants(j.got) }

// wants reports whether a limit is a right answer. Captures have coarser classes.
func (j *judged) wants(got diagnose.Limit) bool {
	for want := range strings.SplitSeq(j.want, "|") {
		if want == got.String() || j.end >= capturedAtSender && coarse(j.end, want) == coarse(j.end, got.String()) {
			return true
		}
	}
	return false
}

// coarse is the class of a limit in a capture.
func coarse(e end, limit string) string {
	switch limit {
	case "send buffer", "bounded cwnd", "pacing", "own queue", "own device", "sender's host":
		if e == capturedAtReceiver {
			return "sender or network"
		}
		return "sender's host"
	case "timeouts", "path pauses":
		if e == capturedAtReceiver {
			return "gaps"
		}
	case "random loss", "shallow queue":
		if e == capturedAtReceiver {
			return "gaps"
		}
		return "loss"
	case "capacity", "shared capacity", "network queue", "application", "slow start":
		if e == capturedAtReceiver {
			return "sender or network"
		}
		if limit != "application" && limit != "slow start" {
			return "capacity"
		}
	case "idle", "no data came":
		if e == capturedAtReceiver {
			return "sender or network"
		}
		return "idle"
	}
	return limit
}

// judge diagnoses the recordings of a folder whose names match an expression. Seeds that no
// threshold was set on are left out unless they are wanted.
func judge(ctx context.Context, folder, only string, wanted bool) ([]judged, error) {
	match, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	situations, err := cause.Read(folder)
	if err != nil {
		return nil, err
	}
	var all []judged
	for i := range situations {
		s := &situations[i]
		path := filepath.Join(folder, s.File()+".atr")
		hidden := !wanted && fresh(s.Seed)
		if _, err := os.Stat(path); err != nil || !match.MatchString(s.Name) || hidden {
			continue
		}
		found, err := judgeOne(ctx, s, path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

// judgeOne judges the recordings of one situation.
func judgeOne(ctx context.Context, s *cause.Situation, path string) ([]judged, error) {
	sender := netip.MustParseAddr("10.1.0.1")
	receiver := netip.MustParseAddr("10.2.0.1")
	if s.Plan.Down {
		swapped := sender
		sender = receiver
		receiver = swapped
	}
	recorded, err := diagnosis(ctx, path)
	if err != nil {
		return nil, err
	}
	report := recorded.Report
	var all []judged
	add := func(c *diagnose.Connection, e end, want []string) {
		if c != nil && len(want) > 0 {
			all = append(all, phases(s, e, c, want)...)
		}
	}
	main := largest(report, sender)
	if main != nil && spoilt(s, main) {
		return nil, nil
	}
	add(main, atSender, s.Limits)
	add(largest(report, receiver), atReceiver, s.Receiver)
	if main != nil && s.Plan.Connections == 0 {
		add(joined(*recorded, *recorded, main), bothEnds, s.Limits)
	}
	if _, err := os.Stat(path + cause.PolledSuffix); err == nil && main != nil && !s.Plan.Down &&
		s.Plan.Connections == 0 {
		byPolling, err := diagnosis(ctx, path+cause.PolledSuffix)
		if err != nil {
			return nil, err
		}
		add(same(byPolling.Report, main), polled, s.Limits)
	}
	if main != nil && s.Plan.Connections == 0 && len(s.With) == 0 { // captures know no radio
		captures := []string{cause.ClientSuffix, cause.ServerSuffix}
		if s.Plan.Down {
			slices.Reverse(captures)
		}
		var ends []diagnose.End
		for i, suffix := range captures {
			if _, err := os.Stat(path + suffix); err != nil {
				continue
			}
			captured, err := captureDiagnosis(ctx, path+suffix)
			if err != nil {
				return nil, err
			}
			of := same(captured.Report, main)
			if of == nil {
				of = opposite(captured.Report, main)
			}
			add(of, capturedAtSender+end(i), s.Limits)
			ends = append(ends, *captured)
		}
		if len(ends) == 2 {
			of := joined(ends[0], ends[1], main)
			if of == nil { // no end sends
				of = same(ends[0].Report, main)
			}
			add(of, bothCaptures, s.Limits)
		}
	}
	return all, nil
}

// joined is the connection of both ends; nil if no end sends, or the other one is missing.
func joined(a, b diagnose.End, main *diagnose.Connection) *diagnose.Connection {
	for _, j := range diagnose.Join(a, b) {
		if j.Local == main.Local && j.Remote == main.Remote {
			return &j.Connection
		}
	}
	if a.Source == diagnose.Captured {
		return nil
	}
	return main
}

// captureDiagnosis judges a capture alone.
func captureDiagnosis(ctx context.Context, path string) (*diagnose.End, error) {
	r, err := read.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	engine := diagnose.New(diagnose.Options{Source: diagnose.Captured})
	tracks := &diagnose.Tracks{}
	ends := &endpoint.Series{Sink: tcp.Tee{engine, tracks}}
	_, err = conn.Run(ctx, r, conn.Options{Observer: ends, Done: ends.Done})
	if damage := (*read.Damage)(nil); err != nil && !errors.As(err, &damage) {
		return nil, err
	}
	report := engine.Report()
	report.Without(func(c *diagnose.Connection) bool { return ends.Other[c.ID] })
	return &diagnose.End{Report: &report, Tracks: tracks, Source: diagnose.Captured, Other: ends.Other}, nil
}

// opposite is the other end of the same connection.
func opposite(r *diagnose.Report, of *diagnose.Connection) *diagnose.Connection {
	for i := range r.Connections {
		if c := &r.Connections[i]; c.Local == of.Remote && c.Remote == of.Local {
			return c
		}
	}
	return nil
}

// wireRate finds the rate of the path in a cell.
var wireRate = regexp.MustCompile(`path: \{rate: (\d+) kbit/s`)

// leastUse is the share of the wire's rate from which on the capacity counts as reached. Headers
// take 6 %.
const leastUse = 0.75

// spoilt reports whether a transfer that was to reach the path's capacity did not. The machine's
// load made losses then, and the cause is not known.
func spoilt(s *cause.Situation, c *diagnose.Connection) bool {
	found := wireRate.FindStringSubmatch(s.Cell)
	if found == nil || s.Plan.Parallel > 1 || s.Name == "slower-path" {
		return false
	}
	kbit, _ := strconv.ParseFloat(found[1], 64)
	from := c.StartNs
	for i, want := range s.Limits {
		to := c.EndNs
		if len(s.Limits) > 1 {
			to = from + s.Plan.Phases[i].For.Nanoseconds()
		}
		var bits, seconds float64
		for k := range c.Phases {
			p := &c.Phases[k]
			overlap := float64(min(p.EndNs, to-edgeNs)-max(p.StartNs, from+edgeNs)) / 1e9
			if overlap > 0 {
				bits += overlap * p.RateBps
				seconds += overlap
			}
		}
		if want == "capacity" && seconds > 0 && bits/seconds < leastUse*kbit*1e3 {
			return true
		}
		from = to
	}
	return false
}

// same is the connection with the same ends.
func same(r *diagnose.Report, of *diagnose.Connection) *diagnose.Connection {
	for i := range r.Connections {
		c := &r.Connections[i]
		if c.Local == of.Local && c.Remote == of.Remote && (c.NetNS == 0 || c.NetNS == of.NetNS) {
			return c
		}
	}
	return nil
}

func diagnosis(ctx context.Context, path string) (*diagnose.End, error) {
	r, err := trace.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	o := diagnose.Options{Source: diagnose.SourceOf(r.Metadata().Source)}
	engine := diagnose.New(o)
	tracks := &diagnose.Tracks{}
	if err := r.Scan(ctx, trace.ScanOptions{Fields: diagnose.Fields()}, tcp.Tee{engine, tracks}); err != nil {
		return nil, err
	}
	report := engine.Report()
	return &diagnose.End{Report: &report, Tracks: tracks, Source: o.Source}, nil
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

// startNs is the time at the start of a connection that does not count for shares: the window
// opens, and buffers fill, before the cause holds. A shorter connection counts as a whole.
const startNs = 1e9

// shareAfterStart is the share of time with a wanted limit, without start and handshake.
func shareAfterStart(j *judged, c *diagnose.Connection) float64 {
	from := c.StartNs
	if c.EndNs-c.StartNs > 3*startNs {
		from += startNs
	}
	var wanted, all float64
	for i := range c.Phases {
		p := &c.Phases[i]
		overlap := float64(p.EndNs - max(p.StartNs, from))
		if overlap <= 0 {
			continue
		}
		for _, x := range p.Shares {
			if x.Limit == diagnose.Handshake && !j.wants(x.Limit) {
				continue
			}
			all += overlap * x.Share
			if j.wants(x.Limit) {
				wanted += overlap * x.Share
			}
		}
	}
	return wanted / math.Max(1, all)
}

// phases compares the connection with each wanted cause.
func phases(s *cause.Situation, e end, c *diagnose.Connection, want []string) []judged {
	if len(want) == 1 {
		j := judged{
			situation: s.Name, kind: s.Kind, seed: s.Seed, end: e, want: want[0], got: c.Limit, certainty: c.Certainty,
		}
		j.share = shareAfterStart(&j, c)
		return []judged{j}
	}
	var all []judged
	from := c.StartNs
	for i, w := range want {
		to := from + s.Plan.Phases[i].For.Nanoseconds()
		j := judged{situation: s.Name, kind: s.Kind, seed: s.Seed, end: e, change: true, want: w}
		var most, sum float64
		for k := range c.Phases {
			p := &c.Phases[k]
			overlap := float64(min(p.EndNs, to-edgeNs) - max(p.StartNs, from+edgeNs))
			if overlap <= 0 {
				continue
			}
			sum += overlap
			if j.wants(p.Limit) {
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
