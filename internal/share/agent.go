package share

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"airtide/internal/share/control"
	"airtide/internal/share/hold"
	"airtide/internal/share/link"
	"airtide/internal/share/message"
	"airtide/internal/share/own"
	"airtide/internal/share/radio"
	"airtide/internal/share/rwnd"
	"airtide/internal/sockets/filter"
	"airtide/internal/sockets/owner"
	"airtide/internal/sys/clock"
	"airtide/internal/tcp"
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

// agent is one that runs.
type agent struct {
	config   Config
	link     *link.Link
	mutex    sync.Mutex // of the receiver, which datagrams come to at any time
	receiver *message.Receiver
	sender   *message.Sender
	flows    *own.Flows
	control  *control.Controller
	at       *addresses
	again    bool       // it was at other addresses before
	ready    bool       // the grip on its flows is taken
	hold     *hold.Hold // nil where nothing is held
	self     self
	balance  control.Balance
	decision control.Decision // the last one
	decided  time.Duration    // when
	idleAt   time.Duration    // when the terminal carried next to nothing for the last time
	since    time.Duration    // how long after the decision before
	patience time.Duration    // how long silence of all the others is nothing unusual
	session  uint64
	together together
	place    radio.Place   // where it is, as far as that is known
	bss      uint32        // the same as terminals tell it each other
	meets    link.Families // over which it meets others
	groups   link.Families // over which the last report went to all
	peers    []message.Peer
	// elsewhere is how many terminals are heard besides that are at another access point.
	elsewhere int
	datagram  []byte
	status    Status
	why       string // the last one that was told
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
	at, err := openAddresses(&c)
	if err != nil {
		return fmt.Errorf("sharing: %w", err)
	}
	defer at.close()
	if err := at.take(); err != nil {
		return fmt.Errorf("sharing: %w", err)
	}
	for again := false; ; again = true {
		moved, err := stay(ctx, c, at, filter.Filter{NetNS: []uint32{namespace}, Prefixes: at.prefixes()}, again)
		if err != nil || !moved {
			return err
		}
		if err := at.await(ctx, c.waits); err != nil {
			return fmt.Errorf("sharing: %w", err)
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// errMoved ends what an agent does with addresses that it no longer has.
var errMoved = errors.New("this terminal has other addresses and begins anew")

// stay shares as long as the terminal's addresses are what they are; moved says that they have become others, and again that they have
// before.
func stay(ctx context.Context, c Config, at *addresses, flows filter.Filter, again bool) (moved bool, err error) {
	now := clock.Now()
	a := &agent{
		config: c, at: at, again: again, control: control.New(c.Control), flows: own.New(now),
		self: self{maximum: c.MaxBps, single: c.SingleFrames, weight: c.Weight, flows: map[tcp.FlowID]*flow{}},
	}
	if a.link, err = link.Open(c.Link); err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, a.link.Close()) }()
	var unbound error // told later: who lacks rights is told what for first
	if a.self.windows, unbound = rwnd.Begin(c.Interface); unbound == nil {
		defer func() { err = errors.Join(err, a.self.windows.Close()) }()
	}
	a.meets = a.link.Groups()
	a.groups = a.meets
	if c.Radio != nil {
		a.tuned(c.Radio())
	}
	a.receiver = message.NewReceiver(message.Config{Key: c.Key, Link: a.way(), Hubs: c.Link.Addresses()}, now)
	a.sender = message.NewSender(a.receiver, now)
	a.session = a.receiver.Session()
	a.together.turns = control.NewTurns(a.session)
	return a.run(ctx, flows, unbound)
}

// run lets the parts work until the context ends or one fails. Others are met while the grip on the flows is taken.
func (a *agent) run(ctx context.Context, flows filter.Filter, unbound error) (moved bool, err error) {
	parts, ctx := errgroup.WithContext(ctx)
	var g grip
	ready := make(chan *hold.Hold, 1)
	parts.Go(func() (err error) {
		if g, err = takeGrip(ctx, &a.config, flows); err != nil {
			if ctx.Err() != nil {
				return nil // it was to end before it had begun
			}
			return fmt.Errorf("sharing: %w", err)
		}
		if errors.Is(unbound, rwnd.ErrNotSupported) {
			a.config.Notice("what this terminal receives is not bounded: " + unbound.Error())
		} else if unbound != nil {
			return fmt.Errorf("sharing: %w", unbound)
		}
		ready <- g.hold
		return g.source.Run(ctx, a.flows)
	})
	parts.Go(func() error { return a.link.Receive(ctx, a.hear) })
	parts.Go(func() error { return a.loop(ctx, ready) })
	err = parts.Wait()
	if moved = errors.Is(err, errMoved); moved {
		err = nil
	}
	return moved, errors.Join(err, g.close())
}

func (a *agent) loop(ctx context.Context, ready <-chan *hold.Hold) error {
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
		due.Reset(a.tell(clock.Now())) // there may be something that others are to hear at once
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case a.hold = <-ready:
			a.ready = true
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
	four, six := a.receiver.Families(now)
	a.groups = reaching(a.meets, four, six)
	a.receiver.SetLink(a.way())
	next := a.sender.DueNs(now)
	a.mutex.Unlock()
	if err == nil {
		err = a.link.Send(a.datagram, a.groups)
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

// keeps is the share that the terminal keeps to, 0 for none.
func (a *agent) keeps() float64 {
	if !a.status.Held {
		return 0
	}
	return a.status.ShareBps
}

func (a *agent) seal(state message.State, now int64) (err error) {
	report := a.self.report(state, a.keeps())
	report.BSS, report.BothFamilies = a.bss, a.meets.Both()
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
		_ = a.link.Send(a.datagram, a.groups)
	}
}

// step decides anew and keeps the flows to it.
func (a *agent) step(ctx context.Context, nowNs int64) error {
	now := time.Duration(nowNs)
	if a.at.moved(now) {
		return a.letGo(ctx, now)
	}
	if a.config.Radio != nil {
		a.tuned(a.config.Radio())
	}
	if err := a.self.take(now, a.flows.Take(nowNs)); err != nil {
		return err
	}
	a.mutex.Lock()
	quiet := a.gather(nowNs)
	a.receiver.SetLink(a.way())
	counts := a.receiver.Counts()
	a.mutex.Unlock()
	if !a.ready {
		if a.again {
			a.config.waits(errMoved.Error())
		}
		return nil
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

// letGo lifts all bounds at once, before what takes longer, and returns errMoved.
func (a *agent) letGo(ctx context.Context, now time.Duration) error {
	var errs []error
	if a.hold != nil {
		_, err := a.hold.Set(ctx, now, nil)
		errs = append(errs, err)
	}
	if a.self.windows != nil {
		errs = append(errs, a.self.windows.Set(nil))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("sharing: %w", err)
	}
	a.config.Notice(errMoved.Error())
	a.config.waits(errMoved.Error())
	return errMoved
}
