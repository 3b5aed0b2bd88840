package diag

import (
	"errors"
	"fmt"
	"time"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/sys/clock"
	"airtide/internal/tcp"
)

// flow is one socket that is followed, or known not to pass the filter.
type flow struct {
	tcp.Flow
	family     uint8
	socketID   [sockIDLen]byte
	congestion string // the algorithm now; Flow keeps the first one

	rejected   bool   // its constant properties do not pass the filter
	announced  bool   // the sink knows it
	held       bool   // a process had it open at the last poll
	round      uint64 // the poll in which it was last seen
	generation uint64 // 1 + the owners' generation when its owner was last looked up

	past      past
	situation situation
	streams   streams
}

// take handles one socket of a dump.
func (s *Source) take(sp *space, timeNs int64, msg []byte) error {
	a := &s.answer
	if !a.parse(msg) || len(a.info) < leastInfo {
		return nil // a handshake without a socket yet, or the remainder of a closed one
	}
	fl := sp.flows[a.cookie]
	if fl == nil {
		var err error
		fl, err = s.newFlow(sp, timeNs, a)
		if err != nil {
			return err
		}
		sp.flows[a.cookie] = fl
	} else if fl.round == s.round {
		return nil // it moved within the table during the walk and came twice
	}
	fl.round = s.round
	sp.seen++
	return s.observe(fl, timeNs, a)
}

// errNoCgroups means that a filter cannot be applied.
var errNoCgroups = errors.New(
	"filter by cgroup: this kernel's inet_diag does not tell the cgroup of a socket (Linux 5.8 and newer with " +
		"CONFIG_SOCK_CGROUP_DATA do)",
)

func (s *Source) newFlow(sp *space, timeNs int64, a *answer) (*flow, error) {
	fl := &flow{family: a.family, congestion: string(a.congestion)}
	copy(fl.socketID[:], a.id)
	fl.Local, fl.Remote = a.endpoints()
	fl.NetNS = sp.ns.Inode
	fl.CongestionControl = fl.congestion
	fl.FirstNs = timeNs
	fl.Inherited = s.round == 1
	if a.hasCgroup {
		fl.Cgroup = a.cgroup
	} else if len(s.options.Filter.Cgroups) > 0 {
		return nil, errNoCgroups
	}
	s.findCgroup(fl)
	return fl, nil
}

// cgroupPatience is how long the path of a flow's cgroup is asked for: a cgroup that was made just
// before its socket is found by the next walk over the tree (see owner.Cgroups), one that was
// removed never.
const cgroupPatience = int64(3 * time.Second)

// findCgroup names the flow's cgroup and applies the part of the filter that does not need the
// owner. It returns true when the path became known.
func (s *Source) findCgroup(fl *flow) bool {
	ancestors := []uint64{fl.Cgroup}
	if s.cgroups != nil && fl.Cgroup != 0 {
		fl.CgroupPath, _ = s.cgroups.Path(fl.Cgroup)
		if len(s.fixed.Cgroups) > 0 {
			ancestors = s.cgroups.Ancestors(fl.Cgroup)
		}
	}
	fl.rejected = !s.fixed.Match(&fl.Flow, ancestors)
	return fl.CgroupPath != ""
}

// observe makes a sample of the socket and finds the events since the last one.
func (s *Source) observe(fl *flow, timeNs int64, a *answer) error {
	fl.held = a.inode != 0
	renewed := false
	if fl.CgroupPath == "" && s.cgroups != nil && fl.Cgroup != 0 && timeNs-fl.FirstNs < cgroupPatience {
		renewed = s.findCgroup(fl)
	}
	if fl.rejected {
		return nil
	}
	renewed = s.findOwner(fl, a) || renewed
	first := !fl.announced
	if first && !s.ofOwner.Match(&fl.Flow, nil) {
		return nil // the owner may become known later
	}
	r := &s.row
	r.fill(a)
	fl.streams.fill(r, a)
	now := &s.now
	*now = pastOf(r, a)
	now.state = int64(a.state)
	r[tcp.StateField] = now.state
	fl.situation = situationOf(r)
	if first {
		s.lastID++
		fl.ID = s.lastID
		fl.announced = true
	}
	if first || renewed {
		announce := fl.Flow // lent to the sink, which must not see later changes
		if err := s.sink.Flow(&announce); err != nil {
			return fmt.Errorf("delivering a flow: %w", err)
		}
	}
	if err := s.compare(fl, timeNs, a, now, first); err != nil {
		return err
	}
	fl.past = *now
	return s.sample(timeNs, fl.ID)
}

// findOwner brings inode and process up to date; it returns true when something became known.
func (s *Source) findOwner(fl *flow, a *answer) (renewed bool) {
	if a.inode != 0 && fl.Inode != uint64(a.inode) {
		fl.Inode = uint64(a.inode) // it had none until it was accepted
		fl.generation = 0
		renewed = true
	}
	if fl.PID != 0 || fl.Inode == 0 || fl.generation == s.generation+1 {
		return renewed
	}
	fl.generation = s.generation + 1
	if p, ok := s.owners.Lookup(fl.Inode); ok {
		fl.PID = p.PID
		fl.Comm = p.Comm
		return true
	}
	return renewed
}

// compare emits the events of a flow at a poll.
func (s *Source) compare(fl *flow, timeNs int64, a *answer, now *past, first bool) error {
	if first {
		if handshake(now.state) {
			return nil // EventOpen comes with ESTABLISHED
		}
		e := fl.situation.event(timeNs, fl.ID, tcp.EventOpen)
		e.To = uint8(now.state)
		return s.emit(&e)
	}
	if string(a.congestion) != fl.congestion {
		fl.congestion = string(a.congestion)
		e := fl.situation.event(timeNs, fl.ID, tcp.EventCCChange)
		e.Text = fl.congestion
		if err := s.emit(&e); err != nil {
			return err
		}
	}
	c := &s.comparison
	*c = comparison{
		before: &fl.past, now: now, row: &s.row, options: a.info[offOptions],
		template: fl.situation.event(timeNs, fl.ID, tcp.EventNone), emit: s.emitEvent,
	}
	return c.run()
}

func (s *Source) emit(e *tcp.Event) error {
	if err := s.sink.Event(e); err != nil {
		return fmt.Errorf("delivering an event: %w", err)
	}
	return nil
}

// sample puts the row that is ready into the batch, which has its full length until it is flushed.
func (s *Source) sample(timeNs int64, id tcp.FlowID) error {
	i := s.rows
	s.batch.TimeNs[i] = timeNs
	s.batch.Flow[i] = id
	for f := range s.batch.Cols {
		s.batch.Cols[f][i] = s.row[f]
	}
	s.rows++
	if s.rows < s.options.BatchRows {
		return nil
	}
	return s.flush()
}

func (s *Source) flush() error {
	if s.rows == 0 {
		return nil
	}
	s.batch.Resize(s.rows)
	err := s.sink.Samples(s.batch)
	s.batch.Resize(s.options.BatchRows)
	s.rows = 0
	if err != nil {
		return fmt.Errorf("delivering samples: %w", err)
	}
	return nil
}

// verifyAtMost bounds the sockets that are asked for one by one after a poll; some 4 µs each.
const verifyAtMost = 2000

// settle deals with flows that a dump did not show. The walk over the kernel's table may miss a
// socket when a neighbour leaves its bucket between two reads, so each is asked for by its
// addresses before it counts as gone; the answer may also show that it went to TIME_WAIT.
func (s *Source) settle(sp *space) error {
	if sp.seen == len(sp.flows) {
		return nil
	}
	verified := 0
	for cookie, fl := range sp.flows {
		if fl.round == s.round {
			continue
		}
		if !fl.announced {
			delete(sp.flows, cookie)
			continue
		}
		verified++
		if verified > verifyAtMost {
			return nil // the others at the next poll
		}
		msg, err := sp.conn.get(getRequest(fl.family, &fl.socketID))
		if err != nil {
			return err
		}
		now := clock.Now()
		a := &s.answer
		parsed := msg != nil && a.parse(msg)
		if parsed && a.cookie == cookie && len(a.info) >= leastInfo {
			if err := s.observe(fl, now, a); err != nil {
				return err
			}
			continue
		}
		timeWait := parsed && len(a.info) == 0 &&
			(tcp.State(a.state) == tcp.StateTimeWait || tcp.State(a.state) == tcp.StateFinWait2)
		delete(sp.flows, cookie)
		if err := s.end(fl, now, closeReason(fl.past.state, timeWait)); err != nil {
			return err
		}
	}
	return nil
}

// end tells the sink that a flow is over.
func (s *Source) end(fl *flow, timeNs int64, why tcp.Reason) error {
	if !fl.announced {
		return nil
	}
	e := fl.situation.event(timeNs, fl.ID, tcp.EventClose)
	e.Reason = why
	e.From = uint8(fl.past.state)
	e.To = uint8(tcp.StateClose)
	if why == tcp.ReasonStillOpen {
		e.To = e.From
	}
	return s.emit(&e)
}

// split separates the conditions of a filter that hold at first sight from those on the owner.
func split(f filter.Filter) (fixed, ofOwner filter.Filter) {
	ofOwner = filter.Filter{PIDs: f.PIDs, Comms: f.Comms}
	f.PIDs = nil
	f.Comms = nil
	return f, ofOwner
}
