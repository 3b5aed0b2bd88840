package cause

import (
	"fmt"
	"time"
)

// each is the length of a phase of a change.
const each = 5 * time.Second

// mixtures have several causes. Limits names the tighter one, as the parameters make it.
func mixtures(d draw) []Situation {
	p := d.pipe()
	part := d.between(0.1, 0.3)
	every := time.Duration(d.between(5, 60)) * time.Millisecond
	slow := Pace{WriteBytes: max(100, int(part*p.bps/8*every.Seconds())), Every: every}
	reads := Pace{WriteBytes: 64 << 10, ReadBps: int64(part * p.bps)}
	buffer := max(4<<10, int(part*p.bdp()))
	paced := int64(part * p.bps)
	bound := []string{"--cwnd-max", fmt.Sprint(max(4, int(part*p.bdp()/1448)))}
	request := int(d.between(100, 1400))
	light := p.cell(1, ", up: {loss: 0.02 %}")
	deep := p.cell(4, "")
	lost := p.cell(4, fmt.Sprintf(", up: {loss: %.2f %%}", d.between(1, 3)))
	w := p.wide()
	sends := Plan{Pace: small, SendBuffer: w.sendBuffer(part)}
	answers := Plan{For: length, Requests: []int{request}, Answer: request}
	two := Plan{For: length, Requests: []int{request / 3, request / 3}, Answer: 200, Nagle: true}
	list := []struct {
		name, limit, cell string
		plan              Plan
	}{
		{"slow-and-loss", "application", light, Plan{Pace: slow}},
		{"slow-and-deep-queue", "application", deep, Plan{Pace: slow}},
		{"slow-and-receive-buffer", "application", p.cell(1, ""), Plan{Pace: slow, ReceiveBuffer: int(p.bdp())}},
		{"slow-and-pacing", "application", p.cell(1, ""), Plan{Pace: slow, PacingBps: 3 * paced}},
		{"slow-and-send-buffer", "application", p.cell(1, ""), Plan{Pace: slow, SendBuffer: int(p.bdp())}},
		{"receive-buffer-and-loss", "receive window", light, Plan{Pace: bulk, ReceiveBuffer: buffer}},
		{"receive-buffer-and-deep-queue", "receive window", deep, Plan{Pace: bulk, ReceiveBuffer: buffer}},
		{
			"receive-and-send-buffer", "receive window", p.cell(1, ""),
			Plan{Pace: bulk, ReceiveBuffer: buffer / 2, SendBuffer: 4 * int(p.bdp())},
		},
		{"send-buffer-and-loss", "send buffer", w.cell(1, ", up: {loss: 0.02 %}"), sends},
		{"send-buffer-and-deep-queue", "send buffer", w.cell(4, ""), sends},
		{"pacing-and-loss", "pacing", light, Plan{Pace: bulk, PacingBps: paced}},
		{"pacing-and-deep-queue", "pacing", deep, Plan{Pace: bulk, PacingBps: paced}},
		{"reader-and-loss", "receiving application", light, Plan{Pace: reads}},
		{"reader-and-deep-queue", "receiving application", deep, Plan{Pace: reads}},
		{
			"reader-and-receive-buffer", "receiving application", p.cell(1, ""),
			Plan{Pace: reads, ReceiveBuffer: int(p.bdp())},
		},
		{"bound-and-loss", "bounded cwnd", light, Plan{Pace: bulk}},
		{"bound-and-deep-queue", "bounded cwnd", deep, Plan{Pace: bulk}},
		{"loss-and-deep-queue", "random loss", lost, Plan{Pace: bulk}},
		{"loss-and-reno", "random loss", lost, Plan{Pace: bulk, Congestion: "reno"}},
		{"answers-and-loss", "round trips", light, answers},
		{"nagle-and-loss", "Nagle", light, two},
		{"capacity-and-loss", "capacity", p.cell(1, ", up: {loss: 0.005 %}"), Plan{Pace: bulk}},
		{"bbr-and-loss", "capacity", p.cell(1, ", up: {loss: 1 %}"), Plan{Pace: bulk, Congestion: "bbr"}},
	}
	all := make([]Situation, len(list))
	for i, m := range list {
		m.plan.For = length
		all[i] = Situation{Name: m.name, Limits: []string{m.limit}, Cell: m.cell, Plan: m.plan}
		if m.limit == "bounded cwnd" {
			all[i].Tune = bound
		}
	}
	return all
}

// changes have one cause after another, by the pace of both programs.
func changes(d draw) []Situation {
	p := d.pipe()
	every := 20 * time.Millisecond
	part := d.between(0.1, 0.3)
	slow := Pace{For: each, WriteBytes: int(d.between(0.03, 0.5) * part * p.bps / 8 * every.Seconds()), Every: every}
	fast := Pace{For: each, WriteBytes: 64 << 10}
	bursts := Pace{For: each, WriteBytes: int(0.1 * p.bps / 8), Every: 500 * time.Millisecond}
	silent := Pace{For: each}
	reads := Pace{For: each, WriteBytes: 64 << 10, ReadBps: int64(d.between(0.1, 0.4) * p.bps)}
	buffer := max(4<<10, int(part*p.bdp()))
	// A bounded receive buffer fills at once when the reader slows down.
	most := max(64<<10, int(2*p.bdp()))
	writes := Pace{For: each, WriteBytes: small.WriteBytes}
	paced := int64(part * p.bps)
	bound := []string{"--cwnd-max", fmt.Sprint(max(4, int(part*p.bdp()/1448)))}
	quiet := "idle|application"
	list := []struct {
		name   string
		limits []string
		plan   Plan
	}{
		{"slow-then-fast", []string{"application", "capacity"}, Plan{Phases: []Pace{slow, fast}}},
		{"fast-then-slow", []string{"capacity", "application"}, Plan{Phases: []Pace{fast, slow}}},
		{
			"fast-then-reader",
			[]string{"capacity", "receiving application"},
			Plan{Phases: []Pace{fast, reads}, ReceiveBuffer: most},
		},
		{
			"reader-then-fast",
			[]string{"receiving application", "capacity"},
			Plan{Phases: []Pace{reads, fast}, ReceiveBuffer: most},
		},
		{"idle-then-fast", []string{quiet, "capacity"}, Plan{Phases: []Pace{silent, fast}}},
		{"fast-then-idle", []string{"capacity", quiet}, Plan{Phases: []Pace{fast, silent}}},
		{
			"slow-then-reader",
			[]string{"application", "receiving application"},
			Plan{Phases: []Pace{slow, reads}, ReceiveBuffer: most},
		},
		{
			"reader-then-slow",
			[]string{"receiving application", "application"},
			Plan{Phases: []Pace{reads, slow}, ReceiveBuffer: most},
		},
		{"bursts-then-fast", []string{"application", "capacity"}, Plan{Phases: []Pace{bursts, fast}}},
		{"fast-slow-fast", []string{"capacity", "application", "capacity"}, Plan{Phases: []Pace{fast, slow, fast}}},
		{
			"slow-fast-slow",
			[]string{"application", "capacity", "application"},
			Plan{Phases: []Pace{slow, fast, slow}},
		},
		{
			"reader-fast-reader",
			[]string{"receiving application", "capacity", "receiving application"},
			Plan{Phases: []Pace{reads, fast, reads}, ReceiveBuffer: most},
		},
		{
			"send-buffer-then-slow",
			[]string{"send buffer", "application"},
			Plan{Phases: []Pace{writes, slow}, SendBuffer: p.wide().sendBuffer(part)},
		},
		{
			"slow-then-send-buffer",
			[]string{"application", "send buffer"},
			Plan{Phases: []Pace{slow, writes}, SendBuffer: p.wide().sendBuffer(part)},
		},
		{
			"receive-buffer-then-slow",
			[]string{"receive window", "application"},
			Plan{Phases: []Pace{fast, slow}, ReceiveBuffer: buffer},
		},
		{
			"slow-then-receive-buffer",
			[]string{"application", "receive window"},
			Plan{Phases: []Pace{slow, fast}, ReceiveBuffer: buffer},
		},
		{"pacing-then-slow", []string{"pacing", "application"}, Plan{Phases: []Pace{fast, slow}, PacingBps: paced}},
		{"slow-then-pacing", []string{"application", "pacing"}, Plan{Phases: []Pace{slow, fast}, PacingBps: paced}},
		{"bound-then-slow", []string{"bounded cwnd", "application"}, Plan{Phases: []Pace{fast, slow}}},
		{"slow-then-bound", []string{"application", "bounded cwnd"}, Plan{Phases: []Pace{slow, fast}}},
	}
	all := make([]Situation, len(list))
	for i, c := range list {
		c.plan.For = time.Duration(len(c.limits)) * each
		all[i] = Situation{Name: c.name, Limits: c.limits, Cell: p.cell(0.8, ""), Plan: c.plan}
		if c.plan.SendBuffer > 0 {
			all[i].Cell = p.wide().cell(0.8, "")
		}
		if c.name == "bound-then-slow" || c.name == "slow-then-bound" {
			all[i].Tune = bound
		}
	}
	return all
}

// pathChanges are changes of the path. The cell begins before the traffic, by about beforeTraffic.
func pathChanges(d draw) []Situation {
	p := d.pipe()
	loss := d.between(1, 3)
	at := beforeTraffic + each
	scheduled := func(queue float64, first, then string) string {
		return p.cell(queue, fmt.Sprintf("%s, schedule: [{at: %.1f s, %s}]", first, at.Seconds(), then))
	}
	twice := []Pace{{For: each, WriteBytes: 64 << 10}, {For: each, WriteBytes: 64 << 10}}
	slower := fmt.Sprintf("rate: %.0f kbit/s", p.bps/1e3*d.between(0.2, 0.4))
	list := []struct {
		name   string
		limits []string
		cell   string
	}{
		{
			"capacity-then-loss",
			[]string{"capacity", "random loss"},
			scheduled(0.8, "", fmt.Sprintf("up: {loss: %.2f %%}", loss)),
		},
		{
			"loss-then-capacity",
			[]string{"random loss", "capacity"},
			scheduled(0.8, fmt.Sprintf(", up: {loss: %.2f %%}", loss), "up: {loss: 0 %}"),
		},
		{"slower-path", []string{"capacity", "capacity|network queue"}, scheduled(0.8, "", slower)},
	}
	all := make([]Situation, len(list))
	for i, c := range list {
		all[i] = Situation{
			Name: c.name, Limits: c.limits, Cell: c.cell, Plan: Plan{For: 2 * each, Phases: twice},
		}
	}
	return all
}
