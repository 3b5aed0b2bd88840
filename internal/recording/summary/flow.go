package summary

import (
	"slices"

	"airtide/internal/diagnose"
	"airtide/internal/stats"
	"airtide/internal/tcp"
)

const (
	numCAStates = int(tcp.CALoss) + 1
	numCauses   = int(tcp.CauseOther) + 1

	// flowRateBins and totalRateBins are the tenths of a second that the peak rates of one flow and
	// of all flows keep. All flows need more bins, because their samples are out of order by up to
	// a flush period of one second.
	flowRateBins  = 16
	totalRateBins = 64
)

// counter follows a counter of the kernel. It starts at zero, or at the first seen value if the
// connection was open before the observation.
type counter struct{ stats.Counter }

func (c *counter) add(v int64) {
	if v >= 0 {
		c.Add(v)
	}
}

// total returns the increase during the observation; nil if the counter was never seen.
func (c *counter) total(inherited bool) *int64 {
	n, seen := c.Last()
	if inherited {
		n, seen = c.Growth()
	}
	if !seen {
		return nil
	}
	return &n
}

// uncounted follows the retransmissions that the counters of the samples lack: those behind the
// last sample, and before the first one if the connection was open before.
type uncounted struct {
	before resent
	behind []resent // some of them may have a sample behind them since
}

// resent is a retransmission, or the sum of several.
type resent struct{ timeNs, packets, bytes int64 }

// event takes a retransmission. Events may come after younger samples.
func (u *uncounted) event(f *flow, e *tcp.Event) {
	again := resent{e.TimeNs, max(e.Value, 1), max(0, e.EndSeq-e.Seq)}
	switch {
	case f.samples == 0 || e.TimeNs > f.lastSampleNs:
		if len(u.behind) == cap(u.behind) { // not for each sample: a file may have many of both
			u.settle(f)
		}
		u.behind = append(u.behind, again)
	case f.Inherited && e.TimeNs < f.firstSampleNs:
		u.before.add(again)
	}
}

// settle drops the retransmissions that the counters of the samples have.
func (u *uncounted) settle(f *flow) {
	if f.samples == 0 {
		return
	}
	u.behind = slices.DeleteFunc(u.behind, func(r resent) bool {
		if f.Inherited && r.timeNs <= f.firstSampleNs {
			u.before.add(r)
		}
		return r.timeNs <= f.lastSampleNs
	})
}

func (r *resent) add(o resent) {
	r.packets += o.packets
	r.bytes += o.bytes
}

// complete adds the uncounted retransmissions to those that the kernel counted.
func (u *uncounted) complete(f *flow, g *Retransmissions) {
	u.settle(f)
	sum := u.before
	for _, r := range u.behind {
		sum.add(r)
	}
	if g.Packets != nil {
		*g.Packets += sum.packets
	}
	if g.Bytes != nil {
		*g.Bytes += sum.bytes
	}
}

// flow collects the data of one flow. A busy server has a million, so it holds what each of them
// has: the rest is in few or many, and in extras.
type flow struct {
	tcp.Flow
	described bool
	closed    bool
	reason    tcp.Reason
	samples   int64
	events    int64
	// The first and the last sight of any kind, and of a sample; valid when there was one.
	firstNs, lastNs             int64
	firstSampleNs, lastSampleNs int64

	acked, received counter
	few             few       // the samples, while many is nil
	many            *measures // behind maxFew bytes of samples
	final           *results  // instead of both, behind the last sample
	extras          *extras   // nil without any of it
}

// extras are what few flows have.
type extras struct {
	uncounted uncounted
	counts    counts
	places    diagnose.Places // where the packets were lost, if the drops of this host were recorded
	// names are the congestion controls in the order in which they were first used; nil for one.
	names []string
	// described is the congestion control of the last description, if an event changed it.
	described *string
}

// extra returns the extras of the flow, which it makes if needed.
func (f *flow) extra() *extras {
	if f.extras == nil {
		f.extras = &extras{}
	}
	return f.extras
}

// counts are the events of a flow by cause and error code.
type counts struct {
	causes [numCauses]int64
	codes  [tcp.NumErrorCodes]int64
	undone [2]int64 // by time stamp or F-RTO, by DSACK
}

func (c *counts) add(e *tcp.Event) {
	if int(e.Code) < len(c.codes) {
		c.codes[e.Code]++
	}
	switch e.Kind {
	case tcp.EventRetransmit:
		cause := e.Cause
		if int(cause) >= len(c.causes) {
			cause = tcp.CauseOther
		}
		c.causes[cause] += max(e.Value, 1)
	case tcp.EventUndo:
		switch e.Reason {
		case tcp.ReasonUndoDsack:
			c.undone[1]++
		default:
			c.undone[0]++
		}
	}
}

func (c *counts) merge(o *counts) {
	addArray(c.causes[:], o.causes[:])
	addArray(c.codes[:], o.codes[:])
	addArray(c.undone[:], o.undone[:])
}

func newFlow(id tcp.FlowID) *flow {
	f := &flow{reason: tcp.ReasonStillOpen}
	f.ID = id
	return f
}

// describe takes a description. A later description adds knowledge, such as the owner, and keeps
// the known values that it lacks.
func (f *flow) describe(d *tcp.Flow) {
	old := f.Flow
	f.Flow = *d
	if f.described {
		if f.PID == 0 && f.Comm == "" {
			f.PID = old.PID
			f.Comm = old.Comm
		}
		if f.CgroupPath == "" && f.Cgroup == old.Cgroup {
			f.CgroupPath = old.CgroupPath
		}
	}
	f.CongestionControl = old.CongestionControl
	// A description may repeat the congestion control of the opening behind a change.
	if r := f.extras; r == nil || r.described == nil {
		f.runs(d.CongestionControl)
	} else if *r.described != d.CongestionControl {
		f.runs(d.CongestionControl)
		*r.described = d.CongestionControl
	}
	f.described = true
	f.see(d.FirstNs)
}

// maxControls bounds the congestion controls of a flow. A kernel has some twenty.
const maxControls = 64

// runs records the name of the congestion control from now on.
func (f *flow) runs(name string) {
	if name == "" || name == f.CongestionControl {
		return
	}
	names := f.controls()
	if len(names) > 0 && len(names) < maxControls && !slices.Contains(names, name) {
		f.extra().names = append(names, name)
	}
	f.CongestionControl = name
}

// controls returns the names of the congestion controls in the order in which they were first used.
func (f *flow) controls() []string {
	switch {
	case f.extras != nil && f.extras.names != nil:
		return f.extras.names
	case f.CongestionControl != "":
		return []string{f.CongestionControl}
	}
	return nil
}

func (f *flow) see(timeNs int64) {
	if f.firstNs == 0 || timeNs < f.firstNs {
		f.firstNs = timeNs
	}
	f.lastNs = max(f.lastNs, timeNs)
}

// startNs returns the start of the flow's active time: the first sight, or the first sample if the
// connection was open before. Its counters start there.
func (f *flow) startNs() int64 {
	if f.Inherited || f.FirstNs <= 0 {
		return f.firstSampleNs
	}
	return min(f.FirstNs, f.firstSampleNs)
}

// sample takes a sample, or only its bytes. It returns the bytes moved and the time since which
// they moved.
func (f *flow) sample(r *row, bytesOnly bool) (ackedBytes, receivedBytes, sinceNs int64) {
	f.samples++
	if f.samples == 1 {
		f.firstSampleNs = r.timeNs
		f.lastSampleNs = f.startNs()
		f.see(r.timeNs)
	}
	sinceNs = f.lastSampleNs
	f.lastSampleNs = r.timeNs
	if r.timeNs > f.lastNs {
		f.lastNs = r.timeNs
	}

	ackedBytes = f.acked.move(r.acked, f.Inherited)
	receivedBytes = f.received.move(r.received, f.Inherited)
	if bytesOnly {
		return ackedBytes, receivedBytes, sinceNs
	}
	f.measure(&measured{
		sinceNs: sinceNs, timeNs: r.timeNs, acked: ackedBytes, received: receivedBytes,
		rtt: r.rtt, srtt: r.srtt, cwnd: r.cwnd, inFlight: r.inFlight, minRtt: r.minRtt, delivered: r.delivered,
		lost: r.lost, retransmits: r.retransmits, retransmittedBytes: r.retransmittedBytes, merged: r.merged,
		caState: r.caState,
	})
	return ackedBytes, receivedBytes, sinceNs
}

// move moves the offset of a stream and returns its increase in bytes.
func (c *counter) move(offset int64, inherited bool) int64 {
	if offset == tcp.Absent {
		return 0
	}
	var grown int64
	last, seen := c.Last()
	switch {
	case seen:
		grown = offset - last
	case !inherited:
		grown = offset
	}
	if seen && grown <= 0 {
		return 0 // an old ACK
	}
	c.add(offset)
	return grown
}

// event takes an event. drops reports whether the drops of this host were recorded.
func (f *flow) event(e *tcp.Event, drops bool) {
	f.events++
	f.see(e.TimeNs)
	if drops && (e.Kind == tcp.EventDrop || e.Kind == tcp.EventRetransmit) {
		f.extra().places.Event(e)
	}
	if e.Code != tcp.CodeNone || e.Kind == tcp.EventRetransmit || e.Kind == tcp.EventUndo {
		f.extra().counts.add(e)
	}
	switch e.Kind {
	case tcp.EventRetransmit:
		f.extra().uncounted.event(f, e)
	case tcp.EventCCChange:
		if r := f.extra(); r.described == nil {
			described := f.CongestionControl
			r.described = &described
		}
		f.runs(e.Text)
	case tcp.EventClose:
		// A recorder may also end the flows that outlive it with such an event.
		f.closed = e.Reason != tcp.ReasonStillOpen
		f.reason = e.Reason
	}
}
