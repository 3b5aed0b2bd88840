package share

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"airtide/internal/share/cellkey"
	"airtide/internal/share/control"
	"airtide/internal/share/cwnd"
	"airtide/internal/share/flow"
	"airtide/internal/share/link"
	"airtide/internal/share/message"
	"airtide/internal/share/probe"
	"airtide/internal/share/radio"
	"airtide/internal/share/rwnd"
	"airtide/internal/share/sampler"
	"airtide/internal/sys/clock"
	"airtide/internal/units"
)

const (
	// minSilenceLimit is the least time without any report after which bounds are lifted.
	minSilenceLimit = time.Second
	// silenceGaps is the number of mean report gaps that count as normal silence. Gaps are long if
	// reports are rare, as with a hub in a large cell.
	silenceGaps = 4
	// boundLease is the time for which bounds outlive the last step of a killed or stalled agent.
	boundLease = 800 * time.Millisecond
)

// errMoved ends a session after a change of the terminal's addresses.
var errMoved = errors.New("this terminal has other addresses and begins anew")

// agent connects the core of a session to the kernel and to the peers. It makes no decisions.
type agent struct {
	config    Config
	again     bool // an earlier session had other addresses
	at        *addressWatch
	link      *link.Link
	reports   reports
	sampler   *sampler.Sampler
	windows   *rwnd.Windows // receive windows; nil if the kernel cannot bound them
	bounder   *cwnd.Bounder // congestion windows; nil with the policy Observe
	ready     bool          // flows are attached
	core      *control.Core
	place     place
	out       control.Outputs // outputs of the last step
	unbound   []cwnd.Unbound  // flows that could not be bounded in the last step
	lastState string          // the last reported state

	newInterfacesAt time.Duration // time of the next search for new interfaces
}

// reports holds the reports of the terminal and of its peers.
type reports struct {
	mu       sync.Mutex // protects all fields, because datagrams arrive at any time
	receiver *message.Receiver
	sender   *message.Sender
	groups   link.Families // families of the last report
	datagram []byte
	peers    []message.Peer // peers at this access point
	// otherCells is the number of terminals at other access points.
	otherCells int
}

// loop runs a step every 100 ms and at the start and end of probes. It also sends due reports.
func (a *agent) loop(ctx context.Context, ready <-chan *cwnd.Bounder) error {
	defer a.sendLeaving()
	ticker := time.NewTicker(stepEvery)
	defer ticker.Stop()
	report := time.NewTimer(0)
	defer report.Stop()
	probe := time.NewTimer(stepEvery)
	defer probe.Stop()
	step := func() error {
		now := clock.Now()
		err := a.step(ctx, now)
		if a.out.NextProbe > 0 {
			probe.Reset(a.out.NextProbe - time.Duration(now))
		}
		report.Reset(a.sendReport(clock.Now())) // an extra report may be due at once
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case a.bounder = <-ready:
			a.ready = true
		case <-ticker.C:
			if err := step(); err != nil {
				return err
			}
		case <-probe.C:
			if err := step(); err != nil {
				return err
			}
		case <-report.C:
			report.Reset(a.sendReport(clock.Now()))
		}
	}
}

// step measures the inputs, runs a step of the core and applies its outputs.
func (a *agent) step(ctx context.Context, nowNs int64) error {
	now := time.Duration(nowNs)
	if a.at.moved(now) {
		return a.clearBounds(ctx, now)
	}
	in, counts, err := a.inputs(nowNs)
	if err != nil {
		return err
	}
	a.out = a.core.Step(now, in)
	if a.config.Record != nil {
		a.config.Record.Step(now, in, a.out)
	}
	for _, line := range a.out.Notices {
		a.config.Notice(line)
	}
	if a.out.ReportNow {
		a.reports.sender.SendEarly()
	}
	if !in.Ready {
		if a.again {
			a.config.publishWaiting(errMoved.Error())
		}
		return nil
	}
	if err := a.apply(ctx, now); err != nil {
		return err
	}
	a.publish(counts)
	return nil
}

// inputs measures the inputs of a step.
func (a *agent) inputs(nowNs int64) (in control.Inputs, counts [message.NumReasons]uint64, err error) {
	now := time.Duration(nowNs)
	if a.config.Radio != nil {
		in.Radio, in.NewAccessPoint = a.updateRadio(a.config.Radio())
	}
	in.Flows, in.Host, err = a.sample(now)
	if err != nil {
		return in, counts, err
	}
	r := &a.reports
	r.mu.Lock()
	defer r.mu.Unlock()
	in.Silence, in.SilenceLimit = a.collectPeers(nowNs)
	in.UnboundFlows = len(a.unbound)
	in.MayReportEarly = r.sender.MaySendEarly()
	in.Peers = r.peers
	in.Ready = a.ready
	r.receiver.SetLink(a.reportLink())
	a.updateKeys()
	return in, r.receiver.Counts(), nil
}

// updateKeys applies the keys of the cell if they have changed.
func (a *agent) updateKeys() {
	before := cellkey.Pair{New: a.config.Key, Old: a.config.OldKey}
	if a.config.Keys == nil || a.config.Keys() == before {
		return
	}
	now := a.config.Keys()
	a.config.Key = now.New
	a.config.OldKey = now.Old
	a.reports.receiver.SetKeys(now)
	a.place.setKeys(now)
	if now.Old.Zero() {
		a.config.Notice("the key of the cell is that of cell " + now.New.Tag().String())
	} else {
		a.config.Notice(fmt.Sprintf("the keys are those of cells %s and %s", now.New.Tag(), now.Old.Tag()))
	}
}

// sameCell reports whether two terminals may have the same access point.
func sameCell(a, b uint32) bool { return a == 0 || b == 0 || a == b }

// collectPeers collects the newest reports. It returns the time since the last report and its
// limit. Terminals at other access points have their own airtime, so they count only for the report
// period.
func (a *agent) collectPeers(nowNs int64) (silence, limit time.Duration) {
	r := &a.reports
	r.peers = r.receiver.Peers(r.peers[:0], nowNs)
	received := len(r.peers)
	r.peers = slices.DeleteFunc(r.peers, func(p message.Peer) bool {
		return !sameCell(p.Report.BSS, a.place.hash(p.Key))
	})
	r.otherCells = received - len(r.peers)
	newest := int64(0)
	for i := range r.peers {
		newest = max(newest, r.peers[i].HeardNs)
	}
	limit = max(minSilenceLimit, silenceGaps*time.Duration(r.receiver.MeanGapNs(r.otherCells)))
	return time.Duration(nowNs - newest), limit
}

// reportLink returns the path of this terminal's reports.
func (a *agent) reportLink() message.Link {
	return a.place.reportLink(&a.config, a.reports.groups, a.reports.peers)
}

// sample returns the activity of the flows since the last step, with their receive windows.
func (a *agent) sample(now time.Duration) ([]flow.Sample, flow.HostSample, error) {
	samples, host := a.sampler.Drain(int64(now))
	if a.windows == nil {
		return samples, host, nil
	}
	if now >= a.newInterfacesAt {
		a.newInterfacesAt = now + newInterfacesEvery
		if err := a.windows.AttachNewInterfaces(); err != nil {
			return nil, host, fmt.Errorf("sharing: %w", err)
		}
	}
	ends := make([]rwnd.Ends, len(samples))
	for i, s := range samples {
		ends[i] = rwnd.Ends{Local: s.Local, Remote: s.Remote}
	}
	seen, err := a.windows.Measure(ends)
	if err != nil {
		return nil, host, fmt.Errorf("sharing: %w", err)
	}
	for i, w := range seen {
		samples[i].ReceiveWindow = flow.WindowSample{MeanRTT: w.RTT, LeastRTT: w.MinRTT, InUse: w.InUse}
	}
	return samples, host, nil
}

// newInterfacesEvery is the interval of searches for new interfaces.
const newInterfacesEvery = 2 * time.Second

// apply sets the bounds of the last step in the kernel.
func (a *agent) apply(ctx context.Context, now time.Duration) error {
	if a.bounder != nil {
		if err := a.bounder.ExtendLease(now + boundLease); err != nil {
			return fmt.Errorf("sharing: %w", err)
		}
		if _, err := a.bounder.Set(ctx, now, a.out.Send); err != nil {
			return fmt.Errorf("sharing: %w", err)
		}
		a.reportUnbound(a.bounder.Unbound())
	}
	if a.windows != nil {
		all := make([]rwnd.Bound, len(a.out.Receive))
		for i, b := range a.out.Receive {
			all[i] = rwnd.Bound{Ends: rwnd.Ends{Local: b.Local, Remote: b.Remote}, Bytes: b.Bytes}
		}
		if err := errors.Join(a.windows.ExtendLease(now+boundLease), a.windows.Set(all)); err != nil {
			return fmt.Errorf("sharing: %w", err)
		}
	}
	return nil
}

// clearBounds lifts all bounds at once, because the end of a session takes longer. It returns
// errMoved.
func (a *agent) clearBounds(ctx context.Context, now time.Duration) error {
	var errs []error
	if a.bounder != nil {
		_, err := a.bounder.Set(ctx, now, nil)
		errs = append(errs, err)
	}
	if a.windows != nil {
		errs = append(errs, a.windows.Set(nil))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("sharing: %w", err)
	}
	a.config.Notice(errMoved.Error())
	a.config.publishWaiting(errMoved.Error())
	return errMoved
}

// reportUnbound reports each flow once that could not be bounded.
func (a *agent) reportUnbound(flows []cwnd.Unbound) {
	for _, f := range flows {
		if !slices.Contains(a.unbound, f) {
			a.config.Notice(fmt.Sprintf("the flow from %s to %s is not bounded: %s", f.Local, f.Remote, f.Reason))
		}
	}
	a.unbound = flows
}

// state returns the state of the agent after the last step as a line for the user.
func (a *agent) state() string {
	others := units.Count(len(a.reports.peers), "other")
	if a.out.Reason == "" {
		text := "windows are bounded: sharing with " + others
		if note := QueueOnly(a.config.Policy, a.out.Report.MaxKbps.Bps()); note != "" {
			text += "; " + note
		}
		return text
	}
	return "windows are not bounded: " + a.out.Reason
}

// publish reports the last step: a change of state to the user, and the status to Config.Step.
func (a *agent) publish(counts [message.NumReasons]uint64) {
	if state := a.state(); state != a.lastState {
		a.lastState = state
		a.config.Notice(state)
	}
	if a.config.Step != nil {
		a.config.Step(a.statusOf(counts))
	}
}

// statusOf returns the status after the last step. counts are the received datagrams, by reason.
func (a *agent) statusOf(counts [message.NumReasons]uint64) Status {
	s := newStatus(a.config.Policy, a.config.Key)
	s.OtherAccessPoints = a.reports.otherCells
	for _, f := range a.unbound {
		s.Unbound = append(s.Unbound, UnboundFlow(f))
	}
	s.update(&a.out, a.reports.peers, counts)
	return s
}

// receive gives a datagram to the receiver.
func (a *agent) receive(from netip.AddrPort, datagram []byte) {
	a.reports.mu.Lock()
	defer a.reports.mu.Unlock()
	a.reports.receiver.Take(netip.AddrPortFrom(from.Addr(), 0), datagram, clock.Now())
}

// sendReport sends a report if it is due. It returns the time until the next report.
func (a *agent) sendReport(now int64) time.Duration {
	r := &a.reports
	r.mu.Lock()
	due := r.sender.DueNs(now)
	if due > now {
		r.mu.Unlock()
		return time.Duration(due - now)
	}
	err := a.seal(a.out.Report, a.out.Probe, now)
	four, six := r.receiver.Families(now)
	r.groups = familiesToReachAll(a.link.Groups(), four, six)
	r.receiver.SetLink(a.reportLink())
	next := r.sender.DueNs(now)
	r.mu.Unlock()
	if err == nil {
		err = a.link.Send(r.datagram, r.groups)
	}
	if err != nil {
		a.config.Notice(err.Error())
	}
	return time.Duration(max(next-now, 1e6))
}

func (a *agent) seal(report message.Report, announced probe.Proposal, now int64) (err error) {
	r := &a.reports
	report.BothFamilies = a.link.Groups().Both()
	report.BSS = a.place.hash(r.sender.NextKey().Tag())
	report.Probe = announced.At(time.Duration(now))
	r.datagram, err = r.sender.Seal(r.datagram[:0], report, now)
	return err
}

// sendLeaving sends the last report, so that the peers need not wait for silence.
func (a *agent) sendLeaving() {
	report := a.out.Report
	report.State = message.Leaving
	a.reports.mu.Lock()
	err := a.seal(report, probe.Proposal{}, clock.Now())
	a.reports.mu.Unlock()
	if err == nil {
		_ = a.link.Send(a.reports.datagram, a.reports.groups)
	}
}

// updateRadio applies the state of the radio. moved means that the terminal has changed its access
// point. Between two access points, the last one counts.
func (a *agent) updateRadio(s radio.State) (r control.Radio, moved bool) {
	r = control.Radio{PHYBps: s.PHYBps, StandaloneBps: s.StandaloneBps, SingleFrames: s.SingleFrames, Busy: s.Busy}
	if s.MHz > 0 {
		a.place.MHz = s.MHz
	}
	if s.BSSID == (radio.BSSID{}) || s.BSSID == a.place.BSSID {
		return r, false
	}
	moved = a.place.BSSID != (radio.BSSID{})
	a.place.BSSID = s.BSSID
	a.place.setKeys(cellkey.Pair{New: a.config.Key, Old: a.config.OldKey})
	if moved {
		a.config.Notice("this terminal has another access point and shares with its terminals")
	}
	return r, moved
}
