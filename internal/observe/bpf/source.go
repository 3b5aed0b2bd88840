package bpf

import (
	"context"
	"fmt"
	"time"

	"github.com/cilium/ebpf"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/kernel/sockets/owner"
	"airtide/internal/sys/clock"
	"airtide/internal/tcp"
)

// Source samples by BPF. Make it with Open, run it once, close it.
type Source struct {
	options Options
	loaded  *loaded
	decoder *decoder
	flows   *flowTable
	owners  *owner.Resolver // nil if nobody asks for owners
	cgroups *owner.Cgroups
	batch   *tcp.Batch
	loss    tcp.Loss
	unowned uint64 // flows without an owner at the end
	drops   *drops // nil without WithDrops
}

// Open loads and attaches the programs. From here on the kernel records; call Run soon.
func Open(o Options) (*Source, error) {
	l, err := load(o)
	if err != nil {
		return nil, err
	}
	s := &Source{options: o, loaded: l, flows: newFlowTable()}
	if !o.NoOwners {
		s.owners = owner.NewResolver()
	}
	s.decoder = newDecoder(l.types, l.hz, l.private)
	s.decoder.with = o.With
	s.decoder.moreAt = l.moreAt
	if o.With.has(WithDrops) {
		s.drops = newDrops(dropReasons(l.types))
	}
	// Without a cgroup v2 mount the flows keep their cgroup ids and have no path.
	s.cgroups, _ = owner.OpenCgroups()
	s.batch = s.decoder.newBatch(batchRows)
	return s, nil
}

// Close detaches the programs and frees everything. It is safe after a failed Run and must not run
// beside it.
func (s *Source) Close() error {
	return s.loaded.Close()
}

// Description names the source's way to observe and the parts that this kernel lacks.
func (s *Source) Description() string {
	return fmt.Sprintf("bpf (%s, per ACK)%s", s.loaded.attach, describeMissing(s.loaded.missing))
}

// HZ is the kernel's tick rate, the resolution of RTO and of the limited times.
func (s *Source) HZ() int { return s.loaded.hz }

// slowTime is the interval of the slow work: lost counts and owners. Samples are flushed with it,
// so a killed recording loses at most slowTime + maxDrain, under a second.
const slowTime = 750 * time.Millisecond

// Run delivers to the sink until the context ends, then drains the rings and returns nil. An error
// of the sink ends it.
func (s *Source) Run(ctx context.Context, sink tcp.Sink) error {
	batchTime := s.options.BatchTime
	if batchTime <= 0 {
		batchTime = DefaultBatchTime
	}
	if s.options.Drain <= 0 {
		defer raisePriority()()
	}
	ownerCtx, stopOwners := context.WithCancel(context.Background())
	defer stopOwners()
	ownersDone := make(chan struct{})
	go func() {
		defer close(ownersDone)
		_ = s.owners.Run(ownerCtx)
	}()
	defer func() { stopOwners(); <-ownersDone }()

	wait := s.options.Drain
	if wait <= 0 {
		wait = minDrain
	}
	lastBatch := time.Now()
	lastSlow := time.Now()
	for {
		done := s.pause(ctx, wait)
		// The programs never wake us: a wake-up costs more than a record.
		filled, err := s.loaded.rings.drain(func(raw []byte) error { return s.take(raw, sink) })
		if err != nil {
			return err
		}
		if s.options.Drain <= 0 {
			wait = pace(wait, filled)
		}
		now := time.Now()
		slow := done || now.Sub(lastSlow) >= slowTime
		// A recording is written to its file at the lost counts. So all older samples must have
		// reached it by then.
		if slow || now.Sub(lastBatch) >= batchTime {
			lastBatch = now
			if err := s.flush(sink); err != nil {
				return err
			}
		}
		if slow {
			lastSlow = now
			if err := s.findOwners(sink); err != nil {
				return err
			}
			if done {
				if err := s.decideLast(sink); err != nil {
					return err
				}
			}
			if err := s.readCounters(); err != nil {
				return err
			}
			if err := sink.Lost(&s.loss); err != nil {
				return err
			}
		}
		if done {
			return nil
		}
	}
}

// decideLast decides on the flows whose owner no hook has seen until the end. It is called once,
// after the last record.
func (s *Source) decideLast(sink tcp.Sink) error {
	process := filter.Filter{PIDs: s.options.Filter.PIDs, Comms: s.options.Filter.Comms}
	for _, f := range s.flows.undecided() {
		switch {
		case f.flow.PID == 0:
			s.unowned++
		case process.Match(&f.flow, nil):
			s.flows.accept(f)
			if err := s.announce(f, sink); err != nil {
				return err
			}
		}
	}
	return s.flush(sink)
}

// pace returns the time until the next drain, from the last interval and the share of the fullest
// ring that was filled in it. The goal is one eighth: a long burst of records finds the processor's
// caches warm, and the rest is room for a late drain.
func pace(last time.Duration, filled float64) time.Duration {
	const goal = 1.0 / 8
	next := time.Duration(float64(last) * goal / max(filled, 1e-6))
	return min(max(next, minDrain), maxDrain)
}

// take takes a record, in a slot that is large enough for each kind.
func (s *Source) take(raw []byte, sink tcp.Sink) error {
	switch monitorMonRecordKind(raw[0]) {
	case monitorMonRecordKindRECORD_SAMPLE:
		f := s.flows.find(kernelFlow(raw))
		if f == nil {
			s.loss.Orphans++
			return nil
		}
		if f.undecided {
			s.flows.hold(f, raw)
			return nil
		}
		if s.drops != nil {
			f.note(raw)
		}
		s.decoder.sample(raw, f.flow.ID, f.private, s.batch)
		if s.decoder.full(s.batch) {
			return s.flush(sink)
		}
		return nil
	case monitorMonRecordKindRECORD_EVENT:
		return s.takeEvent(raw, sink)
	case monitorMonRecordKindRECORD_FLOW:
		return s.takeFlow(raw, sink)
	case monitorMonRecordKindRECORD_DROP:
		return s.takeDrop(raw, sink)
	}
	return fmt.Errorf("reading a ring: there is no record of kind %d", raw[0])
}

func (s *Source) takeEvent(raw []byte, sink tcp.Sink) error {
	f := s.flows.find(kernelFlow(raw))
	if f == nil {
		s.loss.Orphans++
		return nil
	}
	if f.undecided {
		s.flows.hold(f, raw)
		return nil
	}
	var e tcp.Event
	s.decoder.event(raw, f.flow.ID, &e)
	if e.Kind == tcp.EventCCChange {
		f.private = s.decoder.private[e.Text]
	}
	if e.Kind == tcp.EventTimeout {
		return s.takeTimeouts(raw, &e, sink)
	}
	if e.Kind == tcp.EventClose {
		s.flows.close(kernelFlow(raw))
		if s.drops != nil {
			s.drops.forget(f)
		}
	}
	return sink.Event(&e)
}

// takeTimeouts gives all timeouts of a record to sink, the first of which is e.
func (s *Source) takeTimeouts(raw []byte, e *tcp.Event, sink tcp.Sink) error {
	for left := timeouts(raw) - 1; left > 0; left-- {
		if err := sink.Event(e); err != nil {
			return err
		}
		e.Value = s.decoder.timeout(raw, left)
	}
	return sink.Event(e)
}

// takeDrop gives a dropped packet to its flows.
func (s *Source) takeDrop(raw []byte, sink tcp.Sink) error {
	if s.drops == nil {
		return nil
	}
	dropped, lost := s.drops.read(raw)
	if !lost {
		return nil
	}
	return deliverEvents(s.drops.events(dropped), sink)
}

func deliverEvents(events []tcp.Event, sink tcp.Sink) error {
	for i := range events {
		if err := sink.Event(&events[i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *Source) takeFlow(raw []byte, sink tcp.Sink) error {
	flow, kernelID, flags := s.decoder.flow(raw)
	if flags&rejectedMark != 0 {
		if f := s.flows.find(kernelID); f != nil && s.drops != nil {
			s.drops.forget(f)
		}
		s.flows.close(kernelID)
		return nil
	}
	f := s.flows.learn(kernelID, flow, flags&undecidedMark != 0)
	if len(f.held) == 0 { // else the records tell of a change
		f.private = s.decoder.private[f.flow.CongestionControl]
	}
	if s.owners != nil && f.flow.PID == 0 && flow.Inode != 0 {
		s.flows.wanted[kernelID] = f
		s.owners.Lookup(flow.Inode)
	}
	if f.undecided {
		return nil
	}
	return s.announce(f, sink)
}

// announce delivers a flow's description, and the records that were held until it was accepted.
func (s *Source) announce(f *flow, sink tcp.Sink) error {
	if s.cgroups != nil && f.flow.CgroupPath == "" && f.flow.Cgroup != 0 {
		f.flow.CgroupPath, _ = s.cgroups.Path(f.flow.Cgroup)
	}
	if err := sink.Flow(&f.flow); err != nil {
		return err
	}
	if s.drops != nil {
		if err := deliverEvents(s.drops.learn(f), sink); err != nil {
			return err
		}
	}
	for _, raw := range s.flows.takeHeld(f) {
		if err := s.take(raw, sink); err != nil {
			return err
		}
	}
	return nil
}

// flush hands over the batch.
func (s *Source) flush(sink tcp.Sink) error {
	return s.decoder.deliver(s.batch, sink.Samples)
}

// findOwners takes up the owners that /proc has told, and tells the programs.
func (s *Source) findOwners(sink tcp.Sink) error {
	for id, f := range s.flows.wanted {
		p, ok := s.owners.Lookup(f.flow.Inode)
		if !ok {
			continue
		}
		delete(s.flows.wanted, id)
		if err := s.tellKernel(f.flow.Inode, p); err != nil {
			return err
		}
		if f.flow.PID != 0 {
			continue
		}
		f.flow.PID = p.PID
		f.flow.Comm = p.Comm
		if f.undecided {
			continue
		}
		if err := s.announce(f, sink); err != nil {
			return err
		}
	}
	return nil
}

// tellKernel makes an owner known to the programs, which decide by it where the filter asks for
// owners.
func (s *Source) tellKernel(inode uint64, p owner.Process) error {
	o := monitorOwner{Pid: p.PID}
	for i := range min(len(p.Comm), len(o.Comm)-1) {
		o.Comm[i] = int8(p.Comm[i])
	}
	if err := s.loaded.coll.Maps["owners"].Put(inode, o); err != nil {
		return fmt.Errorf("telling the kernel who owns socket %d: %w", inode, err)
	}
	return nil
}

func (s *Source) readCounters() error {
	counters := s.loaded.coll.Maps["counters"]
	var lost []uint64
	if err := counters.Lookup(uint32(monitorMonCounterCOUNTER_LOST), &lost); err != nil {
		return fmt.Errorf("reading the lost counts: %w", err)
	}
	untracked, err := sumCounter(counters, monitorMonCounterCOUNTER_UNTRACKED)
	if err != nil {
		return err
	}
	unowned, err := sumCounter(counters, monitorMonCounterCOUNTER_UNOWNED)
	if err != nil {
		return err
	}
	s.loss.TimeNs = clock.Now()
	s.loss.PerCPU = lost
	s.loss.Untracked = untracked
	s.loss.Unowned = unowned + s.unowned
	s.loss.Missed = s.missedRuns()
	for _, c := range []struct {
		part    With
		counter monitorMonCounter
		sum     *uint64
	}{
		{WithUDP, monitorMonCounterCOUNTER_IP_BYTES, &s.loss.IPBytes},
		{WithUDP, monitorMonCounterCOUNTER_UDP_443BYTES, &s.loss.UDP443Bytes},
		{WithHandshake, monitorMonCounterCOUNTER_SYNACK_AGAIN, &s.loss.SYNACKAgain},
		{WithHandshake, monitorMonCounterCOUNTER_SYNACK_DONE, &s.loss.SYNACKDone},
	} {
		if !s.options.With.has(c.part) {
			continue
		}
		*c.sum, err = sumCounter(counters, c.counter)
		if err != nil {
			return err
		}
	}
	return nil
}

// sumCounter adds up a counter over all processors.
func sumCounter(counters *ebpf.Map, which monitorMonCounter) (sum uint64, err error) {
	var perCPU []uint64
	if err := counters.Lookup(uint32(which), &perCPU); err != nil {
		return 0, fmt.Errorf("reading counter %d of the programs: %w", which, err)
	}
	for _, n := range perCPU {
		sum += n
	}
	return sum, nil
}

// missedRuns counts how often the kernel left out a program because it was running already on the
// same processor: in a soft interrupt on top of a process that works through its socket's backlog.
// Each is a record that was never made. From kernel 5.12 on.
func (s *Source) missedRuns() (n uint64) {
	for _, p := range s.loaded.coll.Programs {
		if stats, err := p.Stats(); err == nil {
			n += stats.RecursionMisses
		}
	}
	return n
}
