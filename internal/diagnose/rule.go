package diagnose

import (
	"fmt"
	"math"
	"slices"

	"airtide/internal/tcp"
	"airtide/internal/units"
)

// Evidence is an observation that a verdict rests on.
type Evidence struct {
	// Field is the field or event that shows it, by its name in samples and events.
	Field string `json:"field"`
	Text  string `json:"text"`
}

// match is the verdict of a rule.
type match struct {
	limit     Limit
	certainty Certainty
	// or are limits that this source cannot tell from limit.
	or       []Limit
	evidence []Evidence
}

func (m *match) because(field, format string, args ...any) *match {
	m.evidence = append(m.evidence, Evidence{field, fmt.Sprintf(format, args...)})
	return m
}

// verdict makes a match. It is certain if a measure exceeds its threshold clearly.
func verdict(l Limit, clear bool) *match {
	if clear {
		return &match{limit: l, certainty: Certain}
	}
	return &match{limit: l, certainty: Likely}
}

// rule recognises one limit. It returns nil if the phase does not show it.
type rule struct {
	name  string
	apply func(*phase) *match
}

// senderRules stand in the order of precedence: a rule may rely on those before it.
var senderRules = []rule{
	{"unseen", unseen},
	{"radio pauses", radioPauses},
	{"path MTU", pathMTU},
	{"timeouts", timeouts},
	{"path pauses", pauses},
	{"receive window", receiveLimit},
	{"send buffer", sendBuffer},
	{"Nagle", nagle},
	{"first slow start", firstSlowStart},
	{"application", application},
	{"sender's host", senderHost},
	{"radio", radioLink},
	{"own queue", ownQueue},
	{"pacing", pacing},
	{"own device", ownDevice},
	{"reordering", reordering},
	{"slow start", slowStart},
	{"no queue", noQueue},
	{"queue", queue},
}

// receiverRules hold for the end that receives.
var receiverRules = []rule{
	{"unseen", unseen},
	{"turns", turns},
	{"reader", reader},
	{"own window", ownWindow},
	{"radio pauses", radioPauses},
	{"no data", noData},
	{"gaps", gaps},
	{"radio", radioReception},
	{"peer", peer},
}

// Thresholds of the rules. They were set on one half of the seeds of test/bench/diagnosis.
const (
	fewTimeouts   = 2    // timeouts of full segments: above, none of these may arrive
	silentShare   = 0.12 // share of the time spent waiting for retransmission timers
	stalledShare  = 0.08 // share of the time in pauses of the path
	windowShare   = 0.5  // share of the active time with a full receive window
	overfull      = 0.25 // standing queue over the least RTT: above, no window or buffer limits
	lateWindow    = 0.5  // part of the full windows that comes in a round trip: below, the reader opens them late
	pacedFull     = 0.1  // windowShare of a sender whose pacing fills the window once in a round trip
	burstShare    = 0.35 // windowShare behind a slow reader: between its reads the path carries as much as fits
	bufferShare   = 0.4  // share of the active time with a full send buffer
	fullShare     = 0.13 // share of samples with a full send buffer: below, the program fills it by chance
	partialShare  = 0.2  // share of the active time with a part of a segment waiting
	quietShare    = 0.5  // share of the time without data to send
	unseenShare   = 0.5  // share of the time without samples
	turnShare     = 0.3  // share of the time explained by round trips of requests
	certainTurns  = 0.5  // turnShare of a certain verdict
	mostTurns     = 4    // requests at a time: above, both ends send without waiting
	lawFactor     = 2    // between the rate and that of the law of Mathis: above, losses do not limit
	deviceShare   = 0.4  // share of the active time with data behind the device's queue
	ownWait       = 0.7  // part of the packets in queues, in this host: above, its queue limits
	pacedWindow   = 0.97 // part of the rate that the window allows: above, pacing does not limit
	usedPacing    = 0.75 // rate over the pacing rate: below, pacing does not limit
	pacedQuiet    = 0.2  // part of the time without data to send, with unused pacing
	pacedShare    = 0.5  // share of the active time with data and room in the window
	readerWindow  = 0.8  // mean window over the greatest: below, the reader lags
	windowFull    = 0.3  // part of the active time with a full congestion window
	filledWindow  = 0.75 // part of the window that comes at once, or in a round trip: above, the window limits
	roomyWindow   = 0.5  // part of the window that comes in a round trip: below, the window does not limit
	fewClosed     = 2    // closed windows of a capture in which data seldom comes: above, the reader lags
	shutShare     = 0.3  // share of the time with a closed own window: above, the reader lags
	hugeWindow    = 0.05 // part of the window that comes in a round trip: below, it has room though it closed
	shrunkWindow  = 0.6  // mean advertised window over the greatest: below, the reader lags
	steadyWindow  = 0.9  // mean window over the greatest: above, closed windows do not count
	releasedShare = 0.9  // share of the silences that acknowledgements end: above, a full buffer waits for them
	leastWrites   = 10   // times at which data left, for such a share
	fewIdle       = 0.1  // part of the time without outstanding data: below, a full send buffer looks alike
	steadyShare   = 0.8  // share of the time with the window at its median
	boundShare    = 0.5  // share of the time with the window at its greatest value, with reductions
	fewLost       = 2    // segments sent again for each reduction: below, losses are random
	manyLost      = 3    // segments sent again for each reduction: above, a queue overflows
	sameRate      = 1.25 // factor between rates that are alike
	readerQueue   = 0.3  // unread data over the window and it: below, the reader keeps up
	varyingRate   = 0.18 // coefficient of variation
	shallowRank   = 0.8  // rank of the RTT at a reduction
	evenCuts      = 0.25 // variation of the window at reductions: below, a queue overflows
	leastCuts     = 3    // reductions for a variation
	youngWindow   = 0.2  // part of the time with a full window in such a transfer
	youngRtts     = 15   // round trips of a transfer that may end in slow start
)

// active is the share of time that is not idle.
func (p *phase) active() float64 { return math.Max(0.01, 1-p.share[condIdle]) }

// mostlyIdle reports whether the sender had nothing outstanding for most of the time: no window or
// buffer of its active time limits the whole.
func (p *phase) mostlyIdle() bool { return p.share[condIdle] > quietShare }

// pathMTU recognises a path that loses full segments without ICMP: they are sent again and again,
// and none has arrived so far, though shorter ones did.
func pathMTU(p *phase) *match {
	if p.silence < silentShare || p.timeouts <= fewTimeouts || p.fullResent == 0 || p.fullArrived() {
		return nil
	}
	m := verdict(PathMTU, false).
		because("timeout", "%s; no segment of %.0f bytes was acknowledged, and %d bytes of shorter ones",
			units.Count(int64(p.timeouts), "timeout"), p.mss(), p.flow.ackedAll)
	m.or = []Limit{Timeout}
	return m
}

// fullArrived reports whether a full segment was acknowledged before the end of the phase.
func (p *phase) fullArrived() bool {
	return slices.ContainsFunc(p.flow.bins, func(b bin) bool { return b.fromNs < p.toNs && b.fullAcks > 0 })
}

func timeouts(p *phase) *match {
	if p.silence < silentShare || p.timeouts == 0 {
		return nil
	}
	return verdict(Timeout, p.silence > 2*silentShare).
		because("timeout", "%s; the timers took %s of the time", units.Count(int64(p.timeouts), "timeout"),
			units.Percent(p.silence))
}

func pauses(p *phase) *match {
	if p.stalled < stalledShare {
		return nil
	}
	return verdict(Stall, p.stalls > 2).
		because("rtt_us", "%s took %s of the time, and the packets after them had waited as long",
			units.Count(int64(p.stalls), "pause"), units.Percent(p.stalled))
}

func receiveLimit(p *phase) *match {
	share := math.Max(p.share[condReceive], p.rwnd)
	limit := ReceiveWindow
	least := windowShare
	full := p.window.mean() / math.Max(1, float64(p.window.greatest))
	used := p.rateBps() / 8 * p.rtt() / math.Max(1, p.window.mean())
	switch {
	case full < readerWindow || p.zeroWindows > 0 && full < steadyWindow || used < lateWindow*share:
		limit = ReceivingApplication
		least = burstShare
	case used > filledWindow:
		least = pacedFull
	}
	if share < least*p.active() || p.mostlyIdle() {
		return nil
	}
	if limit == ReceiveWindow && p.overfills() {
		return nil
	}
	late := limit == ReceiveWindow && used < sameRate*lateWindow*share
	m := verdict(limit, share > 0.8*p.active() && (full > steadyWindow || full < 0.7) && !late).
		because("rwnd_limited_us", "the peer's window was full for %s of the time", units.Percent(share)).
		because("send_window_bytes", "the window was %s on average and %s at most", bytes(p.window.mean()),
			bytes(float64(p.window.greatest)))
	if limit == ReceivingApplication && p.zeroWindows == 0 {
		m.or = []Limit{ReceiveWindow} // the other end may have bounded it meanwhile
	}
	if p.zeroWindows > 0 {
		m.because("zero_window", "it closed %s", units.Count(int64(p.zeroWindows), "time"))
	}
	if late {
		m.or = []Limit{ReceivingApplication}
		m.because("acked_bytes", "a round trip brings %s of it", units.Percent(used))
	}
	return m
}

// fillsBuffer reports whether the send buffer was full, and not only large beside its data.
func (b *bin) fillsBuffer() bool { return float64(b.fullSamples) > fullShare*float64(b.samples) }

// holdsBuffer is the share of samples at which the send buffer holds so much that a program which
// asks for room gets none (sk_stream_is_writeable() in include/net/sock.h: a third).
func (p *phase) holdsBuffer() float64 {
	return float64(p.heldSamples) / math.Max(1, float64(p.samples))
}

// quiet is the share of time in which the program had given no whole segment that waited. In a
// capture a short segment may also be the end of a full send buffer.
func (p *phase) quiet() float64 {
	quiet := p.share[condIdle] + p.share[condEmpty]
	if p.flow.source != Captured {
		quiet += p.share[condPartial]
	}
	if !p.fillsBuffer() {
		quiet += p.share[condBuffer]
	}
	return quiet
}

// unseen recognises a time without samples, which has another rate than the rest.
func unseen(p *phase) *match {
	if p.unseenBytes == 0 || p.share[condNone] < unseenShare || p.continues() {
		return nil
	}
	m := &match{limit: Unknown}
	return m.because("state", "%s moved without a sample for %s of the time: the kernel makes none once an end has "+
		"sent its FIN", bytes(float64(p.unseenBytes)), units.Percent(p.share[condNone]))
}

func sendBuffer(p *phase) *match {
	share := p.sndbuf
	if p.fillsBuffer() {
		share = math.Max(share, p.share[condBuffer])
	}
	if share < bufferShare*p.active() || p.mostlyIdle() || p.overfills() {
		return nil
	}
	m := verdict(SendBuffer, share > 0.6*p.active() && float64(p.fullSamples) > 2*fullShare*float64(p.samples))
	if share == p.sndbuf {
		m.because("sndbuf_limited_us", "the send buffer was full for %s of the time", units.Percent(share))
	}
	if p.flow.last.sendFixed == tcp.Absent && share != p.sndbuf {
		m.or = []Limit{Application, RoundTrips} // polls do not tell who set the buffer
	}
	if p.flow.last.sendFixed == 1 {
		m.because("send_buffer_fixed", "the kernel does not grow the buffer: the program has set it (SO_SNDBUF), or "+
			"tcp_wmem bounds it")
	}
	return m.
		because("send_memory_bytes", "the send buffer held %s for %s of the time, and the window had room: %.0f of "+
			"%.0f packets in flight", bytes(p.sendMemory.mean()), units.Percent(share), p.inFlight.mean(),
			p.cwnd.mean())
}

func nagle(p *phase) *match {
	if p.share[condPartial] < partialShare*p.active() || p.inFlight.mean() > 4 || p.mostlyIdle() {
		return nil
	}
	return verdict(Nagle, p.turns > 2 && p.share[condPartial] > 0.4*p.active()).
		because("unsent_bytes", "less than a segment waited for %s of the time",
			units.Percent(p.share[condPartial]))
}

const (
	heldShare   = 0.4 // share of the peer's data that came a timer later: above, it may have been held back
	waitedShare = 0.4 // share of the time in which the peer waited for delayed ACKs: above, that limits
	leastAnswer = 5   // silences before data for a share of them
)

// mayBeHeld adds Nagle's algorithm or TCP_CORK at the peer, which this end sees as silences of a
// timer's length.
func (m *match) mayBeHeld(p *phase) {
	switch m.limit {
	case RoundTrips, Application, Idle, NoData, SenderOrNetwork:
	default:
		return
	}
	if p.answers < leastAnswer || float64(p.held) < heldShare*float64(p.answers) {
		return
	}
	other := Nagle
	if wait := p.rtt() + float64(delayedAckNs)/1e9; float64(p.askedAcks)*wait > waitedShare*p.seconds() {
		other = m.limit
		m.limit = Nagle
	}
	m.or = append(m.or, other)
	m.certainty = min(m.certainty, Likely)
	m.because("received_bytes", "%d of %d times a part of a segment came a delayed ACK (40 ms) or an RTO later than a "+
		"round trip, as Nagle's algorithm and TCP_CORK hold it back", p.held, p.answers)
}

// takesTurns is the part of the time that round trips of requests and answers take, each as long as
// rttUs. It is 0 if both ends send without waiting.
func (p *phase) takesTurns(rttUs float64) float64 {
	waits := float64(p.turns) * rttUs / 1e6 / p.seconds()
	if waits > mostTurns || p.turns < 2 {
		return 0
	}
	return waits
}

// turns recognises request and answer at either end. The RTT of an end that asks has the time for
// which the other one works on its answer, so the least RTT counts.
func turns(p *phase) *match {
	if p.flow.source == Polled && p.exchanges > 0.5 && p.inFlight.mean() < 3 && p.active() > turnShare {
		m := verdict(RoundTrips, false).
			because("received_bytes", "data went both ways in %s of the polls' intervals", units.Percent(p.exchanges))
		m.or = []Limit{Application} // polls do not show how long an end works on its answer
		return m
	}
	waits := p.takesTurns(p.baseUs)
	if waits < turnShare {
		return nil
	}
	m := verdict(RoundTrips, waits > certainTurns && waits < sameRate)
	if waits > sameRate { // an end has several requests at a time, or sends without waiting
		m.or = []Limit{Application}
	}
	return m.
		because("received_bytes", "%d times the peer's data came after own data", p.turns).
		because("rtt_us", "a round trip takes at least %s: %s of the time", milliseconds(p.baseUs),
			units.Percent(min(1, waits)))
}

// mayTakeTurns adds round trips to a verdict if they explain the time with the RTT that this end
// measured, and not with the least.
func (m *match) mayTakeTurns(p *phase) *match {
	waits := p.takesTurns(p.rttUs)
	if waits < turnShare/2 {
		return m
	}
	m.or = append(m.or, RoundTrips)
	m.certainty = min(m.certainty, Likely)
	return m.because("rtt_us", "%d times the peer's data came after own data, and a round trip takes %s: %s of the "+
		"time, unless the peer works on its answer meanwhile", p.turns, milliseconds(p.rttUs),
		units.Percent(min(1, waits)))
}

func application(p *phase) *match {
	quiet := p.quiet()
	if quiet < quietShare || p.holdsBuffer() > quietShare && p.overfills() && !p.mostlyIdle() {
		return nil
	}
	if m := turns(p); m != nil {
		return m
	}
	limit := Application
	if p.share[condIdle] > 0.9 && p.ackedBytes < 1448*(1+p.lengthNs()/1e9) {
		limit = Idle
	}
	m := verdict(limit, quiet > 0.7 && p.lifeRtts() > youngRtts).
		because("unsent_bytes", "no data waited to be sent for %s of the time", units.Percent(quiet))
	if p.flow.source == Captured {
		p.givesWhenAcknowledged(m)
		return m.mayTakeTurns(p)
	}
	if p.flow.source == Polled && p.exchanges > 0.5 {
		m.or = []Limit{RoundTrips} // polls do not show whose turn it was
	}
	if p.holdsBuffer() > steadyShare { // a program that polls for room does not fill the buffer
		m.or = append(m.or, SendBuffer)
		m.certainty = Likely
	}
	return m.because("in_flight_packets", "%.1f of %.0f packets of the window were used", p.inFlight.mean(),
		p.cwnd.mean()).mayTakeTurns(p)
}

// givesWhenAcknowledged adds a full send buffer to the verdict of a capture in which data was
// always outstanding. A program that waits for room in the buffer gives data when acknowledgements
// make it.
func (p *phase) givesWhenAcknowledged(m *match) {
	if p.share[condIdle] >= fewIdle {
		return
	}
	m.or = []Limit{SendBuffer}
	if p.writes < leastWrites || float64(p.released) < releasedShare*float64(p.writes) {
		return
	}
	m.limit = SendBuffer
	m.or[0] = Application
	m.because("sent_bytes", "%d of %d times data followed a silence as soon as an acknowledgement came",
		p.released, p.writes)
}

// senderHost judges a capture alone: data waits, the lost packets are too few to matter or the
// sender does not care for them, and no queue stands in the way.
func senderHost(p *phase) *match {
	waits := p.share[condWindow] + p.share[condPaced] + p.share[condPartial]
	if p.flow.source != Captured || p.bin.rtt.count == 0 || p.queueUs() >= p.noQueueUs() ||
		waits < pacedShare*p.active() {
		return nil
	}
	m := verdict(SenderHost, false).
		because("rtt_us", "the RTT of %s is near its least value of %s: no queue is full", milliseconds(p.rttUs),
			milliseconds(p.baseUs)).
		because("segment_bytes", "full segments left for %s of the time", units.Percent(waits))
	// BBR has the path full without a queue. Without timestamps, one before the capture is unseen.
	m.or = []Limit{SendBuffer, CwndBound, Pacing, OwnQueue, Application, Capacity}
	if p.window.count == 0 {
		m.or = append(m.or, ReceiveWindow, ReceivingApplication) // without the handshake its scale is unknown
	}
	if p.reductions == 0 {
		return m
	}
	law := p.lossRate(int64(p.reductions))
	if law < lawFactor*p.rateBps() && p.rateBps() < 2*lawFactor*law {
		return nil
	}
	return m.because("retransmits_packets", "%s sent again would let a loss-based sender reach %s, and it had %s",
		units.Count(p.retrans, "packet"), rate(law), rate(p.rateBps()))
}

// lossRate is the rate of a loss-based sender by the law of Mathis et al. 1997: it falls with the
// square root of the loss.
func (p *phase) lossRate(reductions int64) float64 {
	loss := math.Max(1e-9, float64(reductions)/math.Max(1, float64(p.deliveredPackets)))
	return 1.22 * p.mss() * 8 / p.rtt() / math.Sqrt(loss)
}

func ownQueue(p *phase) *match {
	if p.share[condDevice] < deviceShare*p.active() {
		return nil
	}
	return verdict(OwnQueue, p.share[condDevice] > 0.6*p.active()).
		because("device_queue_bytes", "%s stood in this host's queue on average, and data waited behind it for %s of "+
			"the time", bytes(p.deviceQueue.mean()), units.Percent(p.share[condDevice]))
}

func pacing(p *phase) *match {
	if p.share[condPaced]+p.share[condDevice] < pacedShare*p.active() || p.pacing.count == 0 {
		return nil
	}
	steady := p.pacing.mean() >= 0.97*float64(p.pacing.greatest)
	if p.rateBps() < usedPacing*p.pacing.mean() {
		return belowPacing(p)
	}
	if p.flow.cc == "bbr" && !steady {
		return bbr(p)
	}
	if p.pacing.mean() > pacedWindow*p.windowBps() {
		return nil // data waits for a moment, between two acknowledgements
	}
	return verdict(Pacing, steady).
		because("pacing_rate_bps", "the pacing rate was %s, and %s were acknowledged", rate(p.pacing.mean()),
			rate(p.rateBps())).
		because("in_flight_packets", "%.0f of %.0f packets of the window were used though data waited",
			p.inFlight.mean(), p.cwnd.mean())
}

// belowPacing judges a sender that does not use its pacing rate: at times it has no data.
func belowPacing(p *phase) *match {
	quiet := p.quiet()
	if quiet < pacedQuiet {
		return nil
	}
	return verdict(Application, false).
		because("unsent_bytes", "no data waited to be sent for %s of the time", units.Percent(quiet)).
		because("pacing_rate_bps", "the pacing rate of %s was not used: %s were acknowledged", rate(p.pacing.mean()),
			rate(p.rateBps()))
}

// bbr judges a sender that paces at its own estimate of the capacity.
func bbr(p *phase) *match {
	limit := Capacity
	if longQueue(p) {
		limit = NetworkQueue
	}
	m := verdict(limit, false).
		because("pacing_rate_bps", "BBR paces at its estimate of the capacity: %s on average", rate(p.pacing.mean())).
		because("rtt_us", "the RTT is %s, its least value %s", milliseconds(p.rttUs), milliseconds(p.baseUs))
	m.or = []Limit{SharedCapacity}
	return m
}

func ownDevice(p *phase) *match {
	if p.localRefusals == 0 || p.localRefusals < p.reductions {
		return nil
	}
	return verdict(OwnDevice, p.localRefusals > 2).
		because("local_congestion", "this host's device refused packets %s; other reductions of the window: %d",
			units.Count(int64(p.localRefusals), "time"), p.reductions)
}

func reordering(p *phase) *match {
	// Of a queue that overflows most packets that are sent again were lost.
	if p.reorderings == 0 || 2*int64(p.dsacks) < p.retrans {
		return nil
	}
	// A few in a fast transfer do not slow it. Polls miss reductions.
	if p.flow.source != Polled && p.lossRate(int64(max(p.reductions, p.undos))) > lawFactor*p.rateBps() {
		return nil
	}
	return verdict(Reordering, p.undos > 0).
		because("reordering", "packets came out of order %s, and %s of the window undone",
			units.Count(int64(p.reorderings), "time"), units.Count(int64(p.undos), "reduction")).
		because("dsack", "the peer reports %s that came twice; %s sent again",
			units.Count(int64(p.dsacks), "packet"), units.Count(p.retrans, "packet"))
}

// firstSlowStart recognises a transfer that ended in slow start. Its last round trips have no more
// data to send.
func firstSlowStart(p *phase) *match {
	if p.share[condWindow]+p.share[condPaced] < youngWindow || p.ackedBytes < shortBytes {
		return nil
	}
	return slowStart(p)
}

// lifeRtts is the age of the connection at the end of the phase.
func (p *phase) lifeRtts() float64 {
	return float64(p.toNs-p.flow.firstNs) / 1000 / math.Max(1, p.baseUs)
}

func slowStart(p *phase) *match {
	life := p.lifeRtts()
	below := 5*p.slowStart >= 4*p.samples || p.flow.source == Captured
	if p.reductions > 0 || p.timeouts > 0 || !below || life > youngRtts {
		return nil
	}
	return verdict(SlowStart, life < youngRtts/2).
		because("ssthresh_packets",
			"the window was below the slow-start threshold for the whole life of %.0f round trips",
			life)
}

func milliseconds(us float64) string { return units.ThreeDigits(us/1000) + " ms" }

// scaled prints a value with three digits and an SI prefix, before a unit.
func scaled(v float64) string {
	digits, prefix := units.Prefixed(v)
	return digits + " " + prefix
}

func bytes(v float64) string { return scaled(v) + "B" }

func rate(bps float64) string { return scaled(bps) + "bit/s" }
