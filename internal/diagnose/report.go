package diagnose

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"airtide/internal/tcp"
)

// Report holds the findings of all flows.
type Report struct {
	Connections []Connection `json:"connections"` // in the order of their first sight
	// Doubts are reasons why all verdicts are less certain.
	Doubts []string `json:"doubts"`
	// LeftOut counts connections with few bytes that were left out to bound the memory.
	LeftOut int `json:"left_out"`
	// Radios sums up the host's Wi-Fi interfaces; empty if they were not recorded.
	Radios []Radio `json:"radios,omitempty"`
}

// Connection is the finding of one flow.
type Connection struct {
	tcp.Flow
	// Number is that of a captured connection, of which both ends are flows; 0 in recordings.
	Number uint64 `json:"connection,omitempty"`
	// Direction is "sends", "receives", "short" for a few segments, "unopened" without a handshake
	// that ended, or "idle".
	Direction string  `json:"direction"`
	Unopened  string  `json:"unopened,omitempty"` // why it did not open
	StartNs   int64   `json:"start_ns"`
	EndNs     int64   `json:"end_ns"`
	Seconds   float64 `json:"seconds"`
	// AckedBytes and ReceivedBytes were moved during the observation.
	AckedBytes    int64 `json:"acked_bytes"`
	ReceivedBytes int64 `json:"received_bytes"`
	// Losses tells where the packets were lost that were sent again; null if drops were not
	// recorded.
	Losses *Losses `json:"losses"`
	// Radio compares TCP's retransmissions with the radio's; null if the radio tells nothing.
	Radio *RadioLosses `json:"radio,omitempty"`
	// Waits are those of the sender in its own host; null without --with waits.
	Waits *Waits `json:"waits,omitempty"`
	// Shares of time by limit, greatest first; their sum is 1.
	Shares []Share `json:"shares"`
	Finding
	Phases []Phase `json:"phases"`
}

// Share is the share of time of a limit, 0 to 1.
type Share struct {
	Limit Limit   `json:"limit"`
	Share float64 `json:"share"`
}

// Finding is a verdict with its reasons.
type Finding struct {
	Limit     Limit     `json:"limit"`
	Certainty Certainty `json:"certainty"`
	// Or are limits that this source cannot tell from Limit.
	Or       []Limit    `json:"or"`
	Sentence string     `json:"sentence"`
	Evidence []Evidence `json:"evidence"`
	// Refuted is the observation that would refute the verdict.
	Refuted string `json:"refuted_by"`
	// Next is the next step and its expected effect.
	Next string `json:"next_step"`
}

// Phase is a time in which one limit held.
type Phase struct {
	StartNs int64   `json:"start_ns"`
	EndNs   int64   `json:"end_ns"`
	RateBps float64 `json:"rate_bps"` // rate of acknowledged or received data
	RttUs   float64 `json:"rtt_us"`   // median; 0 without a measurement
	Shares  []Share `json:"shares"`
	Finding
}

// Report returns the findings so far. More data may follow.
func (e *Engine) Report() Report {
	r := Report{
		Connections: make([]Connection, 0, len(e.order)), Doubts: []string{}, LeftOut: e.leftOut.Len(),
		Radios: e.radios.list(math.MinInt64),
	}
	for _, f := range e.order {
		r.Connections = append(r.Connections, f.report())
	}
	compare(e.order, r.Connections)
	for _, reason := range e.doubts() {
		r.Doubt(reason)
	}
	return r
}

// Without leaves connections out.
func (r *Report) Without(out func(*Connection) bool) {
	r.Connections = slices.DeleteFunc(r.Connections, func(c Connection) bool { return out(&c) })
}

// doubts are reasons why all verdicts are less certain.
func (e *Engine) doubts() []string {
	var list []string
	if e.options.Source == Polled {
		list = append(list, "the source polls: short states between two polls are not seen")
	}
	if e.options.Source == Captured {
		list = append(list, "the source is a capture: buffers, congestion windows and timers are not seen")
	}
	if e.lost > 0 {
		list = append(list, "records were lost")
	}
	if missing := e.missing(); len(missing) > 0 {
		list = append(list, "the recording lacks "+strings.Join(missing, ", ")+
			", as those of older versions or kernels do")
	}
	return list
}

// essential are the fields that every sample for an ACK has. Most rules rest on them.
var essential = [...]tcp.Field{
	tcp.AckedBytes, tcp.SentBytes, tcp.WrittenBytes, tcp.SendWindowBytes, tcp.SendMemoryBytes, tcp.DeviceQueueBytes,
	tcp.PacingRateBps, tcp.BusyUs, tcp.RetransmitsPackets,
}

// missing names the essential fields that no sample has.
func (e *Engine) missing() []string {
	if e.options.Source != PerAck || !e.sampled {
		return nil
	}
	var list []string
	for i, f := range essential {
		if !e.has[i] {
			list = append(list, f.String())
		}
	}
	return list
}

// Doubt adds a reason for which all verdicts are less certain.
func (r *Report) Doubt(reason string) {
	r.Doubts = append(r.Doubts, reason)
	for i := range r.Connections {
		r.Connections[i].doubt()
	}
}

// doubt makes the verdicts of a connection likely at most.
func (c *Connection) doubt() {
	c.Certainty = min(c.Certainty, Likely)
	for j := range c.Phases {
		c.Phases[j].Certainty = min(c.Phases[j].Certainty, Likely)
	}
}

// shares collects times by limit.
type shares [numLimits]float64

// list returns the shares of a length, greatest first.
func (s *shares) list() []Share {
	var sum float64
	for _, v := range s {
		sum += v
	}
	list := []Share{}
	for l, v := range s {
		if v > 0 {
			list = append(list, Share{Limit(l), v / sum})
		}
	}
	slices.SortStableFunc(list, func(a, b Share) int { return cmp.Compare(b.Share, a.Share) })
	return list
}

// report judges a flow.
func (f *flow) report() Connection {
	c := Connection{
		Flow: f.Flow, AckedBytes: f.ackedAll, ReceivedBytes: f.receivedAll, Shares: []Share{}, Phases: []Phase{},
		Direction: "idle", Finding: Finding{Or: []Limit{}, Evidence: []Evidence{}, Sentence: Unknown.Sentence()},
	}
	if f.source == Captured {
		c.Number = uint64(f.ID+1) / 2
	}
	if f.places != nil {
		c.Losses = f.places.Losses()
	}
	c.Radio = f.radioLosses()
	c.Waits = f.waits.sum()
	if len(f.bins) == 0 {
		return c
	}
	c.StartNs = f.bins[0].fromNs
	switch {
	case f.unopened():
		c.Direction = "unopened"
		failure := f.failure()
		c.Unopened = failure.why
		c.Phases = []Phase{f.unanswered(failure)}
	case f.isShort():
		c.Direction = "short"
		c.Phases = []Phase{f.short()}
	default:
		for _, bins := range cut(f.bins, f.link()) {
			c.Phases = append(c.Phases, f.judge(bins))
		}
		c.Phases = joinPhases(c.Phases)
		f.openPhase(&c)
		c.Direction = f.direction()
	}
	c.EndNs = c.Phases[len(c.Phases)-1].EndNs
	c.Seconds = float64(c.EndNs-c.StartNs) / 1e9
	c.conclude()
	return c
}

// leastHandshakeNs is less than the time of any handshake that this end began. The end that accepts
// has none: the kernel makes its socket at the last ACK.
const leastHandshakeNs = int64(100e3)

// openPhase gives the time until the connection was open to the handshake.
func (f *flow) openPhase(c *Connection) {
	first := &c.Phases[0]
	length := float64(first.length())
	if f.Inherited || f.openNs-first.StartNs < leastHandshakeNs || length <= 0 {
		return
	}
	part := min(1, float64(f.openNs-first.StartNs)/length)
	var s shares
	for _, old := range first.Shares {
		s[old.Limit] = old.Share
	}
	// The sender has nothing outstanding meanwhile: the time was counted as the application's.
	from := first.Limit
	if s[Application] >= part {
		from = Application
	}
	part = min(part, s[from])
	s[from] -= part
	s[Handshake] += part
	first.Shares = s.list()
}

// allIdle reports whether the flow was idle for nearly all of its time, as a control connection.
func (f *flow) allIdle() bool {
	var idle int64
	for i := range f.bins {
		idle += f.bins[i].ns[condIdle]
	}
	life := f.bins[len(f.bins)-1].toNs - f.bins[0].fromNs
	return life > leastPhaseNs && float64(idle) > 0.9*float64(life) && f.ackedAll+f.receivedAll < shortBytes
}

// direction names the direction of most bytes.
func (f *flow) direction() string {
	switch {
	case f.allIdle():
		return "idle"
	case f.receivedAll > f.ackedAll:
		return "receives"
	case f.ackedAll > 1:
		return "sends"
	}
	return "idle"
}

// conclude takes the verdict of the connection from its phases: of the limits that a phase has, the
// one with the most time, as its longest phase explains it.
func (c *Connection) conclude() {
	var sum shares
	for i := range c.Phases {
		p := &c.Phases[i]
		for _, s := range p.Shares {
			sum[s.Limit] += s.Share * float64(max(1, p.length()))
		}
	}
	c.Shares = sum.list()
	if at := c.explains(); at >= 0 {
		c.Finding = c.Phases[at].Finding
	}
}

// explains is the phase whose reasons are those of the connection; -1 without one.
func (c *Connection) explains() int {
	for _, s := range c.Shares {
		longest := -1
		for i := range c.Phases {
			if c.Phases[i].Limit == s.Limit && (longest < 0 || c.Phases[i].length() > c.Phases[longest].length()) {
				longest = i
			}
		}
		if longest >= 0 {
			return longest
		}
	}
	return -1
}

func (p *Phase) length() int64 { return p.EndNs - p.StartNs }

// judge applies the rules to a phase.
func (f *flow) judge(bins []bin) Phase {
	p := f.phase(bins)
	rules := senderRules
	rate := p.rateBps()
	if p.receives() {
		rules = receiverRules
		rate = p.receiveBps()
	}
	m := &match{limit: Unknown}
	for _, r := range rules {
		if found := r.apply(p); found != nil {
			m = found
			break
		}
	}
	m.mayBeHeld(p)
	if m.certainty == Certain && f.Inherited && m.limit.needsBase() {
		m.certainty = Likely
		m.because("min_rtt_us", "the connection was open before the recording: its least RTT may be lower than seen")
	}
	found := m.finding()
	found.Next = p.next(m.limit)
	return Phase{
		StartNs: p.fromNs, EndNs: p.toNs, RateBps: rate, RttUs: p.rttUs, Shares: p.split(m.limit),
		Finding: found,
	}
}

// finding is the verdict without its next step.
func (m *match) finding() Finding {
	return Finding{
		Limit: m.limit, Certainty: m.certainty, Or: append([]Limit{}, m.or...), Sentence: m.limit.Sentence(),
		Evidence: append([]Evidence{}, m.evidence...), Refuted: m.limit.refuted(),
	}
}

// needsBase reports whether the verdict rests on the least RTT. A connection that was open before
// may have had a full queue all the time.
func (l Limit) needsBase() bool {
	return l == RandomLoss || l == CwndBound || l == ShallowQueue || l == Capacity || l == NetworkQueue
}

// split distributes the time of a phase: measured times to their own limits, the rest to the
// verdict.
func (p *phase) split(l Limit) []Share {
	var s shares
	if p.receives() || l == RoundTrips || l == Nagle || l == Idle {
		s[l] = 1
		return s.list()
	}
	rest := 1.0
	take := func(limit Limit, share float64) {
		share = min(share, rest)
		s[limit] += share
		rest -= share
	}
	if p.share[condIdle] > 0.02 {
		take(Application, p.share[condIdle])
	}
	if l != RadioLimit && l != PathMTU { // these explain them
		take(Timeout, p.silence)
		take(Stall, p.stalled)
	}
	if !p.continues() {
		take(Unknown, p.share[condNone])
	}
	if l != ReceivingApplication && !p.overfills() {
		take(ReceiveWindow, p.rwnd)
	}
	if l != Application && !p.overfills() {
		take(SendBuffer, p.sndbuf)
	}
	s[l] += rest
	return s.list()
}

// joinPhases joins neighbours with the same limit.
func joinPhases(phases []Phase) []Phase {
	kept := phases[:1]
	for _, p := range phases[1:] {
		last := &kept[len(kept)-1]
		if last.Limit != p.Limit {
			kept = append(kept, p)
			continue
		}
		last.join(&p)
	}
	return kept
}

// join adds a later phase with the same limit. The longer one keeps its reasons.
func (p *Phase) join(o *Phase) {
	a := float64(p.length())
	b := float64(o.length())
	var sum shares
	for _, s := range p.Shares {
		sum[s.Limit] += s.Share * a
	}
	for _, s := range o.Shares {
		sum[s.Limit] += s.Share * b
	}
	if b > a {
		p.Finding = o.Finding
	}
	whole := math.Max(1, a+b)
	p.RateBps = (p.RateBps*a + o.RateBps*b) / whole
	p.RttUs = (p.RttUs*a + o.RttUs*b) / whole
	p.EndNs = o.EndNs
	p.Shares = sum.list()
}
