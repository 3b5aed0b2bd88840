package diagnose

import (
	"slices"

	"airtide/internal/stats"
	"airtide/internal/tcp"
)

const (
	// leastBinNs is the least length of a bin. A bin is at least one round trip long.
	leastBinNs = int64(100e6)
	// maxDataGap is the number of round trips without data after which the sender is thought to
	// have none.
	maxDataGap = 3
	// mostReceiverRtt is the greatest RTT of a receiver in least RTTs.
	mostReceiverRtt = 4
	// rankValues is the number of RTTs that the rank of an RTT at a reduction is taken among.
	rankValues      = 64
	leastRankValues = 8
)

// flow builds the bins of one flow.
type flow struct {
	tcp.Flow
	described bool
	source    Source
	windowNs  int64 // time that is remembered; 0: all
	bins      []bin
	widthNs   int64 // width of a bin, once merging has begun
	last      sample
	seen      bool
	samples   int64
	firstNs   int64 // time of the first sample
	openNs    int64 // time of the change to ESTABLISHED; 0 when not seen
	closedNs  int64
	closingNs int64      // time of the first sample that closing reports; 0 outside of it
	reason    tcp.Reason // reason of its close
	baseRtt   int64      // least RTT in µs; 0 without one
	// opens and opened report whether a state of the handshake and a later one were seen.
	opens, opened bool
	synRetrans    int64 // SYNs or SYN-ACKs that were sent again
	cc            string
	// Bytes at the first sample, for inherited flows.
	maxCwnd       int64
	reductions    int64 // entries into recovery
	shutToNs      int64 // end of the last time with a closed own window
	dataAtNs      int64 // arrival of the last data; 0 without any
	sentAtData    int64 // sent_bytes when data came last
	idleNs        int64 // time without growth of the busy time that no bin has yet
	silentNs      int64 // length of the last long silence with data outstanding; 0 when it is judged
	silenceEndNs  int64
	epoch         stats.Thinned[int64]
	ackedAll      int64
	receivedAll   int64
	deliveredAll  int64
	maxReceiveWnd int64
	stamps        stamps
	waits         hostWaits
	places        *Places // nil unless drops were recorded
	radios        *radios
}

// describe takes a description. A later one adds knowledge.
func (f *flow) describe(d *tcp.Flow) {
	old := f.Flow
	f.Flow = *d
	if f.described && f.PID == 0 && f.Comm == "" {
		f.PID = old.PID
		f.Comm = old.Comm
	}
	if !f.described {
		f.cc = d.CongestionControl
	}
	f.described = true
}

// sample takes a sample. limit is the greatest number of bins.
func (f *flow) sample(s *sample, limit int) {
	f.samples++
	f.notice(s.state)
	f.opened = f.opened || s.acked > 1 || s.received > 0
	if !f.seen {
		f.begin(s)
		return
	}
	if s.timeNs < f.last.timeNs {
		return
	}
	// A capture tells the FIN before the sample that ends the time before it.
	if !f.closing() || f.moved(s) > finBytes || f.last.timeNs < f.closingNs {
		f.account(f.binFor(s.timeNs, limit), s)
	}
	f.last = *s
	f.close(s.timeNs)
}

// finBytes is what the FINs of both ends count in their streams.
const finBytes = 2

// close notes from which time on closing holds.
func (f *flow) close(ns int64) {
	switch {
	case !f.closing():
		f.closingNs = 0
	case f.closingNs == 0:
		f.closingNs = ns
	}
}

// moved is the number of bytes acknowledged and received since the last sample.
func (f *flow) moved(s *sample) int64 {
	return growth(ackedWith(s), ackedWith(&f.last)) + growth(receivedWith(s), receivedWith(&f.last))
}

// finished reports whether an end had sent its FIN.
func (f *flow) finished() bool {
	state := f.last.state
	return state != tcp.Absent && state > int64(tcp.StateSynRecv)
}

// closing reports whether an end has sent its FIN and nothing was outstanding: then no limit holds
// any more.
func (f *flow) closing() bool {
	return f.finished() && f.last.unsent <= 0 && difference(f.last.sent, ackedWith(&f.last)) <= 1
}

// begin takes the first sample. The time before it, from connect() on, belongs to the first bin.
func (f *flow) begin(s *sample) {
	f.seen = true
	f.firstNs = s.timeNs
	if !f.Inherited && f.FirstNs > 0 {
		f.firstNs = min(f.FirstNs, s.timeNs)
	}
	f.last = *s
	f.sentAtData = s.sent
	f.bins = append(f.bins, bin{fromNs: f.firstNs, toNs: s.timeNs, samples: 1})
	if !f.Inherited {
		last := &f.last
		for _, counter := range []*int64{
			&last.acked, &last.received, &last.delivered, &last.retransmits, &last.outOfOrder, &last.busy,
			&last.rwndLimited, &last.sndbufLimited,
		} {
			*counter = zeroed(*counter)
		}
		f.last.timeNs = f.firstNs
		f.bins[0].samples = 0 // account counts it
		f.account(&f.bins[0], s)
		f.last = *s
	}
}

func zeroed(v int64) int64 {
	if v == tcp.Absent {
		return v
	}
	return 0
}

// binFor returns the bin of a sample. A silence longer than a bin is a bin of its own.
func (f *flow) binFor(now int64, limit int) *bin {
	width := max(leastBinNs, f.widthNs, 1000*max(0, f.last.srtt))
	if f.windowNs > 0 {
		width = max(width, recentNs/int64(limit))
	}
	b := &f.bins[len(f.bins)-1]
	silence := now - f.last.timeNs
	if now-b.fromNs <= width && silence < width {
		b.toNs = now
		return b
	}
	switch {
	case f.windowNs > 0:
		f.expire(now, limit)
	case len(f.bins) >= limit:
		f.halve()
	}
	if n := len(f.bins); n == cap(f.bins) { // append would take memory for more than limit
		f.bins = append(make([]bin, 0, max(n+1, min(2*n, limit))), f.bins...)
	}
	f.bins = append(f.bins, bin{fromNs: f.last.timeNs, toNs: now})
	return &f.bins[len(f.bins)-1]
}

// expire drops the bins that ended before the window, and the oldest if there are too many.
func (f *flow) expire(now int64, limit int) {
	old := max(0, len(f.bins)+1-limit)
	for old < len(f.bins)-1 && f.bins[old].toNs < now-f.windowNs {
		old++
	}
	f.bins = slices.Delete(f.bins, 0, min(old, len(f.bins)-1))
}

// halve merges each two neighbours.
func (f *flow) halve() {
	kept := 0
	for i := 0; i < len(f.bins); i += 2 {
		merged := f.bins[i]
		if i+1 < len(f.bins) {
			merged.merge(&f.bins[i+1])
		}
		f.bins[kept] = merged
		kept++
	}
	f.bins = f.bins[:kept]
	f.widthNs = max(f.widthNs, leastBinNs) * 2
}

// account adds the time since the last sample, and the growth in it, to a bin.
func (f *flow) account(b *bin, s *sample) {
	last := &f.last
	b.samples++
	elapsed := s.timeNs - last.timeNs
	f.spend(b, s, elapsed)
	if s.busy != tcp.Absent && last.busy != tcp.Absent {
		b.chrono = true
		b.busyUs += max(0, s.busy-last.busy)
		b.rwndUs += max(0, s.rwndLimited-last.rwndLimited)
		b.sndbufUs += max(0, s.sndbufLimited-last.sndbufLimited)
	}
	acked := growth(ackedWith(s), ackedWith(last))
	received := growth(receivedWith(s), receivedWith(last))
	b.ackedBytes += acked
	if s.mss > 0 && acked >= s.mss {
		b.fullAcks++
	}
	if f.unseen(s) {
		b.unseenBytes += acked + received
	}
	b.receivedBytes += received
	f.ackedAll += acked
	f.receivedAll += received
	delivered := growth(s.delivered, last.delivered)
	b.deliveredPackets += delivered
	f.deliveredAll += delivered
	resent := growth(s.retransmits, last.retransmits)
	b.retrans += resent
	if f.reductions == 1 && !f.Inherited {
		b.firstResent += int32(resent)
	}
	b.outOfOrder += growth(s.outOfOrder, last.outOfOrder)
	if f.source == Captured && last.writerBlocked != tcp.Absent {
		b.writes++
		b.released += int32(last.writerBlocked)
	}
	b.listens = f.source == Polled && f.receivedAll > 4*f.ackedAll
	if f.shut() {
		b.shutNs += elapsed
	}
	f.data(b, s)
	f.reduction(b, s)
	f.levels(b, s)
	f.stamps.take(b, s)
	if f.source != Captured { // there the flag is a guess
		f.waits.take(last, s)
	}
}

// tickNs is twice the longest tick in which the kernel counts the busy time at 250 Hz.
const tickNs = int64(8e6)

// spend adds the time since the last sample to a condition. A sample shows the state when its
// segment came. The state says nothing of a silence before the data that it acknowledges: that part
// is the time in which the busy time did not grow. Its ticks are rounded, so the difference is
// summed up until it exceeds them.
func (f *flow) spend(b *bin, s *sample, elapsed int64) {
	if s.busy != tcp.Absent && f.last.busy != tcp.Absent {
		f.idleNs = max(-tickNs, f.idleNs+elapsed-1000*max(0, s.busy-f.last.busy))
		if f.idleNs > tickNs {
			idle := min(elapsed, f.idleNs)
			f.rest(b, s, idle)
			elapsed -= idle
			f.idleNs = 0
		}
	}
	if held := f.held(s); held > 0 {
		held = min(held, elapsed)
		b.ns[condPartial] += held
		elapsed -= held
	}
	b.ns[f.condition(s)] += elapsed
	if s.caState == int64(tcp.CARecovery) || s.caState == int64(tcp.CALoss) {
		b.recoverNs += elapsed
	}
	f.pause(b, s)
}

// rest adds time in which the busy time did not grow.
func (f *flow) rest(b *bin, s *sample, ns int64) {
	switch {
	case f.source == Captured && f.condition(s) == condReceive:
		// A capture shows no data that waits for a window until the window opens.
		b.ns[condReceive] += ns
	case f.source != Captured && s.acked != tcp.Absent && f.last.written != tcp.Absent && s.acked < f.last.written-1:
		// Data waited all the time, so the kernel's clock stood still: this host was suspended.
		b.ns[condNone] += ns
	case f.unseen(s) && growth(s.received, f.last.received) > growth(s.acked, f.last.acked):
		b.ns[condNone] += ns // the data of the other end came unseen
	case f.source == Captured && s.segment <= 0 && f.last.unsent >= f.last.mss && f.last.mss > 0:
		// The last segment was full, so more data waited, and no acknowledgement released it.
		b.ns[condPaced] += ns
	default:
		b.ns[condIdle] += ns
		if ackedWith(s) > ackedWith(&f.last) {
			b.unaskedNs += ns
		}
	}
}

// leastHeldNs is longer than the ticks of the busy time, and shorter than the 200 ms of TCP_CORK.
const leastHeldNs = int64(50e6)

// held is the time for which less than a segment waited with nothing in flight: the kernel counts
// it as busy, but the RTT of the segment is shorter.
func (f *flow) held(s *sample) int64 {
	last := &f.last
	if f.source != PerAck || s.rtt <= 0 || s.busy == tcp.Absent || last.busy == tcp.Absent || s.mss <= 0 ||
		s.unacked >= s.mss || last.unsent >= s.mss || ackedWith(last) < last.sent {
		return 0
	}
	held := 1000 * (s.busy - last.busy - s.rtt)
	if held < leastHeldNs {
		return 0
	}
	return held
}

const (
	// A silence of stallRtts least round trips and leastStall is a pause of the path if the packets
	// after it had waited for stallShare of it. It is longer than a smoothed round trip, too.
	stallRtts  = 3
	leastStall = int64(50e6)
	stallShare = 0.6
)

// pause finds silences in which the path held packets back: the segments after it were on their way
// for most of the silence.
func (f *flow) pause(b *bin, s *sample) {
	silence := s.timeNs - f.last.timeNs
	long := silence > leastStall && silence > stallRtts*1000*f.baseRtt && silence > 1200*s.srtt
	if long && f.last.unacked > 0 && s.srtt > 0 && !f.last.fillsPeer() {
		f.silentNs = silence
		f.silenceEndNs = s.timeNs
		return
	}
	if f.silentNs == 0 {
		return
	}
	if s.timeNs-f.silenceEndNs > leastStall {
		f.silentNs = 0
		return
	}
	if float64(s.rtt)*1000 >= stallShare*float64(f.silentNs) {
		b.stallNs += f.silentNs
		b.stalls++
		f.silentNs = 0
	}
}

func growth(now, before int64) int64 {
	if now == tcp.Absent || before == tcp.Absent {
		return 0
	}
	return max(0, now-before)
}

// ackedWith is the acknowledged stream with the arriving segment's acknowledgement.
func ackedWith(s *sample) int64 {
	if s.ack > s.acked && (s.sent == tcp.Absent || s.ack <= s.sent) {
		return s.ack
	}
	return s.acked
}

// receivedWith is the received stream with the arriving segment.
func receivedWith(s *sample) int64 {
	if s.segment > 0 && s.received != tcp.Absent && s.seq == s.received {
		return s.received + s.segment
	}
	return s.received
}

// data follows the arrivals of data: turns of request and answer, and gaps.
func (f *flow) data(b *bin, s *sample) {
	if f.source == Polled && f.brings(s) {
		b.dataNs += s.timeNs - f.last.timeNs
	}
	if s.segment <= 0 {
		return
	}
	if s.received != tcp.Absent && s.seq > s.received {
		b.gapNs += s.timeNs - f.last.timeNs
	}
	answered := f.sentAtData != tcp.Absent && s.sent > f.sentAtData
	if answered {
		b.turns++
	}
	f.sentAtData = s.sent
	receiverRtt := s.receiverRtt
	if f.baseRtt > 0 { // the kernel takes the time between rare segments for an RTT
		receiverRtt = min(receiverRtt, mostReceiverRtt*f.baseRtt)
	}
	rtt := max(f.baseRtt, receiverRtt, 10_000) * 1000
	gap := s.timeNs - f.dataAtNs
	if f.dataAtNs > 0 && gap < maxDataGap*rtt {
		b.dataNs += min(gap, b.lengthNs())
	}
	if base := 1000 * f.baseRtt; f.dataAtNs > 0 && base > 0 && 2*gap > base {
		b.answers++
		late := gap - base
		delayed := late >= delayedAckNs-timerNs && late <= delayedAckNs+timerNs
		corked := late-base >= corkNs-timerNs && late-base <= corkNs+corkErrorNs
		if s.mss > 0 && s.segment%s.mss != 0 && (delayed || corked) {
			b.held++
			if delayed && !answered {
				b.askedAcks++
			}
		}
	}
	f.dataAtNs = s.timeNs
}

const (
	// delayedAckNs is the least time for which Linux delays an ACK (TCP_DELACK_MIN). TCP_CORK holds
	// a part of a segment for an RTO: an RTT and corkNs.
	delayedAckNs = int64(40e6)
	corkNs       = int64(200e6)
	// timerNs is two ticks at 250 Hz. A longer timer may be eight late.
	timerNs     = int64(8e6)
	corkErrorNs = int64(40e6)
)

// shut reports whether the own window was closed at the last sample, by data that waits to be read.
func (f *flow) shut() bool {
	last := &f.last
	return f.source != Captured && last.mss > 0 && last.receiveWindow >= 0 && last.receiveWindow < last.mss &&
		difference(last.received, last.consumed) > 2*last.mss
}

// brings reports whether the sample comes with data: its segment, or what came since the last poll.
func (f *flow) brings(s *sample) bool {
	return s.segment > 0 || f.source == Polled && growth(s.received, f.last.received) > 0
}

// levels adds the values of the sample.
func (f *flow) levels(b *bin, s *sample) {
	if s.rtt > 0 {
		b.rtt.add(s.rtt)
		if f.baseRtt == 0 || s.rtt < f.baseRtt {
			f.baseRtt = s.rtt
		}
		f.epoch.Add(s.rtt, rankValues)
	} else if s.srtt > 0 && s.rtt == tcp.Absent {
		b.rtt.add(s.srtt)
	}
	if s.minRtt > 0 && (f.baseRtt == 0 || s.minRtt < f.baseRtt) {
		f.baseRtt = s.minRtt
	}
	if s.segment <= 0 || s.unacked > 0 {
		b.cwnd.add(s.cwnd)
		b.inFlight.add(s.inFlight)
		b.window.add(s.sendWindow)
		if s.pacing > 0 {
			b.pacing.add(s.pacing)
		}
		b.unsent.add(s.unsent)
		b.deviceQueue.add(s.deviceQueue)
		b.sendMemory.add(s.sendMemory)
		f.maxCwnd = max(f.maxCwnd, s.cwnd)
		if s.boundsWrites() && 20*s.sendMemory >= 19*s.sendBuffer {
			b.fullSamples++
		}
		if s.holdsBuffer() {
			b.heldSamples++
		}
		if f.source != Captured && (s.ssthresh == tcp.Absent || s.cwnd < s.ssthresh) {
			b.slowStart++
		}
	}
	if f.brings(s) {
		queued := difference(s.received, s.consumed)
		b.receiveQueued.add(queued)
		b.receiveWindow.add(s.receiveWindow)
		b.receiverRtt.add(s.receiverRtt)
		f.maxReceiveWnd = max(f.maxReceiveWnd, s.receiveWindow)
		if queued != tcp.Absent && queued > 2*max(s.mss, 536) {
			b.queuedSamples++
		}
		if s.receiveWindow > 0 && float64(s.segment) > filledWindow*float64(s.receiveWindow) {
			b.filledWindows++
		}
	}
}
