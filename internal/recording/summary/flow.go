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
	if v != tcp.Absent {
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

// flow collects the data of one flow.
type flow struct {
	tcp.Flow
	described bool
	samples   int64
	events    int64
	// The first and the last sight of any kind, and of a sample; valid when there was one.
	firstNs, lastNs             int64
	firstSampleNs, lastSampleNs int64

	acked, received              counter
	few                          few       // the samples, while many is nil
	many                         *measures // behind maxFew bytes of samples
	final                        *results  // instead of both, behind the last sample
	minRtt                       int64
	delivered, lost, retransmits counter
	retransmittedBytes           counter
	uncounted                    uncounted

	caNs [numCAStates]int64
	caOK bool

	places  *diagnose.Places // nil unless the drops of this host were recorded
	counts  *counts          // nil without such events
	merged  *Merged          // nil unless joined segments were recorded
	ccNames []string         // in the order in which they were first used
	// control is the last congestion control, describedControl that of the last description.
	control, describedControl string
	closed                    bool
	reason                    tcp.Reason
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

// ofCounts returns the counts of a flow, zeros without events.
func (f *flow) ofCounts() counts {
	if f.counts == nil {
		return counts{}
	}
	return *f.counts
}

func newFlow(id tcp.FlowID) *flow {
	f := &flow{minRtt: tcp.Absent, reason: tcp.ReasonStillOpen}
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
	// A description may repeat the congestion control of the opening behind a change.
	if !f.described || d.CongestionControl != f.describedControl {
		f.runs(d.CongestionControl)
	}
	f.CongestionControl = f.control
	f.describedControl = d.CongestionControl
	f.described = true
	f.see(d.FirstNs)
}

// maxControls bounds the congestion controls of a flow. A kernel has some twenty.
const maxControls = 64

// runs records the name of the congestion control from now on.
func (f *flow) runs(name string) {
	if name != "" {
		f.control = name
	}
	if name != "" && len(f.ccNames) < maxControls && !slices.Contains(f.ccNames, name) {
		f.ccNames = append(f.ccNames, name)
	}
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
		rtt: r.rtt, srtt: r.srtt, cwnd: r.cwnd, inFlight: r.inFlight,
	})
	if r.minRtt != tcp.Absent && (f.minRtt == tcp.Absent || r.minRtt < f.minRtt) {
		f.minRtt = r.minRtt
	}
	f.delivered.add(r.delivered)
	f.lost.add(r.lost)
	f.retransmits.add(r.retransmits)
	f.retransmittedBytes.add(r.retransmittedBytes)
	if r.merged > 0 {
		if f.merged == nil {
			f.merged = new(Merged)
		}
		f.merged.Segments += r.merged
		f.merged.Samples++
	}
	// The state changes while the kernel processes an ACK, after the sample. So the state in a
	// sample has been valid since the previous sample.
	if r.caState >= 0 && r.caState < int64(numCAStates) {
		f.caNs[r.caState] += max(0, r.timeNs-sinceNs)
		f.caOK = true
	}
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

// event takes an event.
func (f *flow) event(e *tcp.Event) {
	f.events++
	f.see(e.TimeNs)
	if f.places != nil {
		f.places.Event(e)
	}
	if e.Code != tcp.CodeNone || e.Kind == tcp.EventRetransmit || e.Kind == tcp.EventUndo {
		if f.counts == nil {
			f.counts = new(counts)
		}
		f.counts.add(e)
	}
	switch e.Kind {
	case tcp.EventRetransmit:
		f.uncounted.event(f, e)
	case tcp.EventCCChange:
		f.runs(e.Text)
		f.CongestionControl = f.control
	case tcp.EventClose:
		// A recorder may also end the flows that outlive it with such an event.
		f.closed = e.Reason != tcp.ReasonStillOpen
		f.reason = e.Reason
	}
}
