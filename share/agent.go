package share

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"airtide/clock"
	"airtide/monitor"
	"airtide/monitor/filter"
	"airtide/monitor/owner"
	"airtide/share/control"
	"airtide/share/hold"
	"airtide/share/link"
	"airtide/share/message"
	"airtide/share/own"
	"airtide/share/rwnd"
	"airtide/tcp"
	"airtide/tune"
)

const (
	// stepEvery is how often an agent decides.
	stepEvery = 100 * time.Millisecond
	// sampleEvery is how densely the agent sees its flows: some samples a step of each, and little work.
	sampleEvery = 10 * time.Millisecond
	// silence of all the others after which bounds are lifted.
	silence = time.Second
	// pauses of the mean length are nothing unusual, so many; where reports come seldom, as by a hub in a large cell, that takes longer.
	pauses = 4
	// lease is how long bounds outlive the agent's last step: it may be killed, or stand still.
	lease = 800 * time.Millisecond
)

// slowestRadio in kbit/s is what a radio is taken to reach at least: the lowest rate of OFDM.
const slowestRadio = 6000

// agent is one that runs.
type agent struct {
	config   Config
	link     *link.Link
	mutex    sync.Mutex // of the receiver, which datagrams come to at any time
	receiver *message.Receiver
	sender   *message.Sender
	flows    *own.Flows
	control  *control.Controller
	hold     *hold.Hold // nil while nothing is held
	self     self
	balance  control.Balance
	decision control.Decision // the last one
	decided  time.Duration    // when
	idleAt   time.Duration    // when the terminal carried next to nothing for the last time
	since    time.Duration    // how long after the decision before
	patience time.Duration    // how long silence of all the others is nothing unusual
	session  uint64
	together together
	peers    []message.Peer
	datagram []byte
	status   Status
	why      string // the last one that was told
}

// Run shares until the context ends; then bounds are lifted and the others told. Needs root, for BPF; a kernel that cannot bound
// windows is an error unless the policy is Observe.
func Run(ctx context.Context, c Config) (err error) {
	if c.Policy == "" {
		c.Policy = control.Shares
	}
	if err := c.check(); err != nil {
		return err
	}
	if c.Notice == nil {
		c.Notice = func(string) {}
	}
	if c.Weight == 0 {
		c.Weight = 1
	}
	namespace, err := owner.SelfNetNS()
	if err != nil {
		return fmt.Errorf("sharing: %w", err)
	}
	prefixes, err := c.prefixes()
	if err != nil {
		return fmt.Errorf("sharing: %w", err)
	}
	flows := filter.Filter{NetNS: []uint32{namespace}, Prefixes: prefixes}
	a := &agent{config: c, control: control.New(c.Control), self: self{maximum: c.MaxBps, single: c.SingleFrames, weight: c.Weight, flows: map[tcp.FlowID]*flow{}}}
	if a.link, err = link.Open(c.Link); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.link.Close()) }()
	source, err := monitor.Open(monitor.Options{Source: c.Source, Filter: flows, Density: filter.Density{Mode: filter.AtMost, Every: sampleEvery}, BatchTime: stepEvery / 4})
	if err != nil {
		return fmt.Errorf("sharing: %w", err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	if c.Policy != control.Observe {
		if a.hold, err = hold.Begin(ctx, tune.Selection{Filter: flows}); err != nil {
			if ctx.Err() != nil {
				return nil // it was to end before it had begun
			}
			return fmt.Errorf("sharing: %w", err)
		}
		defer func() { err = errors.Join(err, a.hold.Close()) }()
	}
	if a.self.windows, err = rwnd.Begin(c.Interface); err != nil {
		if !errors.Is(err, rwnd.ErrNotSupported) {
			return fmt.Errorf("sharing: %w", err)
		}
		c.Notice("what this terminal receives is not bounded: " + err.Error())
	} else {
		defer func() { err = errors.Join(err, a.self.windows.Close()) }()
	}
	now := clock.Now()
	a.receiver = message.NewReceiver(message.Config{Key: c.Key, Link: a.way(), Hubs: c.Link.Addresses()}, now)
	a.sender = message.NewSender(a.receiver, now)
	a.session = a.receiver.Session()
	a.together.turns = control.NewTurns(a.session)
	a.flows = own.New(now)
	return a.run(ctx, source)
}

// way is how this agent's datagrams cross the cell: at what the slowest terminal reaches alone, as far as that is known: its PHY
// rate is higher.
func (a *agent) way() message.Link {
	w := message.Link{Copies: len(a.config.Link.Peers), NoMulticast: a.config.Link.Interface == "", DataKbps: kbps(a.self.maximum)}
	for _, p := range a.peers {
		if m := p.Report.MaxKbps; m > 0 && (w.DataKbps == 0 || m < w.DataKbps) {
			w.DataKbps = m
		}
	}
	if w.DataKbps > 0 { // a maximum that is not known yet is as low as what was seen
		w.DataKbps = max(w.DataKbps, slowestRadio)
	}
	return w
}

// run lets the parts work until the context ends or one fails.
func (a *agent) run(ctx context.Context, source monitor.Source) error {
	parts, ctx := errgroup.WithContext(ctx)
	parts.Go(func() error { return source.Run(ctx, a.flows) })
	parts.Go(func() error { return a.link.Receive(ctx, a.hear) })
	parts.Go(func() error { return a.loop(ctx) })
	return parts.Wait()
}

func (a *agent) loop(ctx context.Context) error {
	defer a.leave()
	ticker := time.NewTicker(stepEvery)
	defer ticker.Stop()
	due := time.NewTimer(0)
	defer due.Stop()
	turn := time.NewTimer(stepEvery)
	defer turn.Stop()
	step := func() error {
		now := clock.Now()
		err := a.step(ctx, now)
		if next, known := a.together.turns.Next(time.Duration(now)); known {
			turn.Reset(next - time.Duration(now))
		}
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := step(); err != nil {
				return err
			}
		case <-turn.C:
			if err := step(); err != nil {
				return err
			}
		case <-due.C:
			due.Reset(a.tell(clock.Now()))
		}
	}
}

// hear takes a datagram in.
func (a *agent) hear(from netip.AddrPort, datagram []byte) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.receiver.Take(netip.AddrPortFrom(from.Addr(), 0), datagram, clock.Now())
}

// tell sends a report when it is due, and returns how long it is until the next may be.
func (a *agent) tell(now int64) time.Duration {
	a.mutex.Lock()
	due := a.sender.DueNs(now)
	if due > now {
		a.mutex.Unlock()
		return time.Duration(due - now)
	}
	err := a.seal(a.state(), now)
	next := a.sender.DueNs(now)
	a.mutex.Unlock()
	if err == nil {
		err = a.link.Send(a.datagram)
	}
	if err != nil {
		a.config.Notice(err.Error())
	}
	return time.Duration(max(next-now, 1e6))
}

// state is what the agent says that it does.
func (a *agent) state() message.State {
	switch {
	case a.config.Policy == control.Observe:
		return message.Observing
	case a.status.Held:
		return message.Controlling
	}
	return message.LetGo
}

func (a *agent) seal(state message.State, now int64) (err error) {
	share := 0.0
	if a.status.Held {
		share = a.status.ShareBps
	}
	report := a.self.report(state, share)
	if state != message.Leaving {
		report.Turn = a.together.turns.Saying(time.Duration(now))
	}
	a.datagram, err = a.sender.Seal(a.datagram[:0], report, now)
	return err
}

// leave says good-bye, so that the others need not wait for the silence.
func (a *agent) leave() {
	a.mutex.Lock()
	err := a.seal(message.Leaving, clock.Now())
	a.mutex.Unlock()
	if err == nil {
		_ = a.link.Send(a.datagram)
	}
}

// step decides anew and keeps the flows to it.
func (a *agent) step(ctx context.Context, nowNs int64) error {
	now := time.Duration(nowNs)
	if err := a.self.take(now, a.flows.Take(nowNs)); err != nil {
		return err
	}
	a.mutex.Lock()
	a.peers = a.receiver.Peers(a.peers[:0], nowNs)
	a.receiver.SetLink(a.way())
	quiet := time.Duration(nowNs - a.receiver.AcceptedNs())
	a.patience = max(silence, pauses*time.Duration(a.receiver.PauseNs()))
	counts := a.receiver.Counts()
	a.mutex.Unlock()
	if a.config.Radio != nil {
		a.self.phy, a.self.byPHY, a.self.single = a.config.Radio()
		a.self.single = a.self.single || a.config.SingleFrames
	}
	a.together.hears(now, a)
	if a.config.Step != nil {
		a.describe(counts)
	}
	bounds, why := a.decide(now, quiet)
	if a.hold == nil {
		bounds, why = noBounds, "this terminal only observes"
	} else {
		if err := a.hold.Renew(now + lease); err != nil {
			return fmt.Errorf("sharing: %w", err)
		}
		if _, err := a.hold.Set(ctx, now, bounds.up); err != nil {
			return fmt.Errorf("sharing: %w", err)
		}
	}
	if a.self.windows != nil {
		if err := errors.Join(a.self.windows.Renew(now+lease), a.self.windows.Set(a.receiveBounds(bounds.down))); err != nil {
			return fmt.Errorf("sharing: %w", err)
		}
	}
	a.status.Held, a.status.Why = why == "", why
	a.status.Windows = bounds.list(a.self.flows)
	if why != a.why {
		a.why = why
		if why != "" {
			a.config.Notice("no bounds: " + why)
		} else {
			a.config.Notice(fmt.Sprintf("sharing with %d others", len(a.peers)))
		}
	}
	if a.config.Step != nil {
		a.config.Step(a.status)
	}
	return nil
}

// describe fills in what the status says of the terminals.
func (a *agent) describe(counts [message.NumReasons]uint64) {
	s := &a.status
	s.Time, s.PID, s.Policy, s.Cell = time.Now(), os.Getpid(), a.config.Policy, a.config.Key.Tag().String()
	s.Own = seen(a.self.report(a.state(), 0))
	s.Peers = make([]Terminal, 0, len(a.peers))
	for _, p := range a.peers {
		t := seen(p.Report)
		t.Address = p.Source.Addr().String()
		s.Peers = append(s.Peers, t)
	}
	s.Turn, s.Effect, s.Foreign = "", nil, a.self.foreign() || a.together.foreign > 0
	if kind := a.together.phase.Kind; kind != message.NoTurn {
		s.Turn = kind.String()
	}
	if e := a.together.effect; e != nil {
		s.Effect = &Effect{e.With.Total, e.Without.Total, e.With.RTT.Microseconds(), e.Without.RTT.Microseconds(), e.Helps()}
	}
	s.Datagrams = map[string]int{}
	for reason, n := range counts {
		if n > 0 {
			s.Datagrams[message.Reason(reason).String()] = int(n)
		}
	}
}

func seen(r message.Report) Terminal {
	t := Terminal{
		State: r.State.String(), MaxBps: r.MaxKbps.Bps(), MaxSource: r.MaxSource.String(), RateBps: r.UploadKbps.Bps() + r.DownloadKbps.Bps(),
		UploadBps: r.UploadKbps.Bps(), DownloadBps: r.DownloadKbps.Bps(), MinRTTUs: int64(r.MinRTTUs), RTTUs: int64(r.SmoothedRTTUs),
	}
	if r.ApplicationLimited {
		t.DemandBps = r.DemandKbps.Bps()
	}
	return t
}
