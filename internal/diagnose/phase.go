package diagnose

import (
	"math"
	"slices"
)

// phase is a time of one flow in which one limit is thought to hold.
type phase struct {
	bin  // the sum of its bins
	flow *flow
	bins []bin
	// radio has the state of the radio that carried the phase; nil without one.
	radio *radioView
	// share is the share of time in each condition, 0 to 1.
	share [numConditions]float64
	// Shares of time by the chronographs and the timers.
	rwnd, sndbuf, silence, stalled float64
	rttUs                          float64 // median of the bins' means
	// exchanges is the share of bins in which data went both ways.
	exchanges float64
	baseUs    float64
	// standingUs is the part of the queueing that never ends, in µs: of most bins the least RTT,
	// with timestamps on the way of the data, above the connection's. The smoothed RTT of polls
	// has delayed ACKs.
	standingUs float64
}

func (f *flow) phase(bins []bin) *phase {
	p := &phase{flow: f, bins: bins, bin: bins[0]}
	for i := range bins[1:] {
		p.merge(&bins[i+1])
	}
	length := math.Max(1, float64(p.lengthNs()))
	for i := range p.share {
		p.share[i] = float64(p.ns[i]) / length
	}
	p.rwnd = min(1, float64(p.rwndUs)*1000/length)
	p.sndbuf = min(1, float64(p.sndbufUs)*1000/length)
	p.silence = min(1, float64(p.timeoutUs)*1000/length)
	p.stalled = min(1, float64(p.stallNs)/length)
	p.baseUs = float64(f.baseRtt)
	for i := range bins {
		if bins[i].ackedBytes > 0 && bins[i].receivedBytes > 0 {
			p.exchanges += 1 / float64(len(bins))
		}
	}
	p.rttUs = medianOf(bins, func(b *bin) float64 { return b.rtt.mean() })
	p.standingUs = medianOf(bins, func(b *bin) float64 { return float64(b.rtt.least) }) - p.baseUs
	if dataUs, _, stamped := p.waits(); stamped {
		p.standingUs = math.Min(p.standingUs, dataUs)
	}
	if f.source == Polled {
		p.standingUs -= float64(delayedAckNs) / 1000
	}
	p.radio = f.link().during(p.fromNs, p.toNs)
	return p
}

// medianOf is the median of the bins' values above zero, 0 without any.
func medianOf(bins []bin, value func(*bin) float64) float64 {
	values := make([]float64, 0, len(bins))
	for i := range bins {
		if v := value(&bins[i]); v > 0 {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[len(values)/2]
}

// waitShare is the share of time with data to send from which on an end sends, whatever it
// receives.
const waitShare = 0.2

// receives reports whether this end mainly receives, and seldom has data that waits to be sent. All
// that comes may stand behind a gap. An end that has received goes on to listen while nothing
// moves.
func (b *bin) receives() bool {
	waits := b.ns[condWindow] + b.ns[condReceive] + b.ns[condBuffer] + b.ns[condPartial] + b.ns[condDevice] +
		b.ns[condPaced]
	silent := (b.listens || b.gapNs > 0) && b.receivedBytes+b.ackedBytes == 0
	return (silent || b.receivedBytes > 4*b.ackedBytes) && float64(waits) <= waitShare*float64(b.lengthNs())
}

// seconds is the length in s.
func (p *phase) seconds() float64 { return math.Max(1e-9, float64(p.lengthNs())/1e9) }

// rateBps is the rate of acknowledged data.
func (p *phase) rateBps() float64 { return float64(p.ackedBytes) * 8 / p.seconds() }

// receiveBps is the rate of data received in order.
func (p *phase) receiveBps() float64 { return float64(p.receivedBytes) * 8 / p.seconds() }

// queueUs is the median of the RTT above its least value, in µs.
func (p *phase) queueUs() float64 { return math.Max(0, p.rttUs-p.baseUs) }

// timeMean is the mean over time of a value, of the bins that have it.
func (p *phase) timeMean(of func(*bin) *extremes) float64 {
	var m moments
	for i := range p.bins {
		b := &p.bins[i]
		if v := of(b); v.count > 0 {
			m.add(v.mean(), float64(b.lengthNs()))
		}
	}
	return m.mean()
}

// ownWindowBytes is the mean over time of the window that this end advertised.
func (p *phase) ownWindowBytes() float64 {
	return p.timeMean(func(b *bin) *extremes { return &b.receiveWindow })
}

// receiverRttUs is the mean over time of the receiver's RTT, in µs.
func (p *phase) receiverRttUs() float64 {
	return p.timeMean(func(b *bin) *extremes { return &b.receiverRtt })
}

// perRoundTrip is the data in bytes that comes in a round trip of the receiver.
func (p *phase) perRoundTrip() float64 { return p.receiveBps() / 8 * p.receiverRttUs() / 1e6 }

// spreadNs is the least time over which rates are compared.
const spreadNs = int64(400e6)

// spread is the coefficient of variation of the rate, outside slow start and recovery.
func (p *phase) spread() float64 {
	var sum, squares, weight float64
	var length, acked float64
	for i := range p.bins {
		b := &p.bins[i]
		if b.reductions > 0 || 5*b.recoverNs > b.lengthNs() || b.slowStart > b.samples/2 {
			continue
		}
		length += float64(b.lengthNs())
		acked += float64(b.ackedBytes)
		if length < float64(spreadNs) {
			continue
		}
		rate := acked / length
		sum += rate * length
		squares += rate * rate * length
		weight += length
		length = 0
		acked = 0
	}
	if weight == 0 || sum == 0 {
		return 0
	}
	mean := sum / weight
	return math.Sqrt(math.Max(0, squares/weight-mean*mean)) / mean
}

// cutSpread is the coefficient of variation of the window at its reductions. A queue overflows at
// about the same window each time; random loss does not care.
func (p *phase) cutSpread() float64 {
	if p.cuts == 0 {
		return 0
	}
	mean := p.cutSum / float64(p.cuts)
	return math.Sqrt(math.Max(0, p.cutSquares/float64(p.cuts)-mean*mean)) / mean
}

// lostAtOnce is the number of segments sent again for each reduction of the window. A queue that
// overflows drops several segments of a window. Random loss takes one, seldom two. A first slow
// start overflows any queue, so its reduction counts only if there is no other.
func (p *phase) lostAtOnce() float64 {
	switch {
	case p.reductions == 0:
		return 0
	case p.reductions > 1 && p.firstResent > 0:
		return float64(p.retrans-int64(p.firstResent)) / float64(p.reductions-1)
	}
	return float64(p.retrans) / float64(p.reductions)
}

// cutQueueUs is the mean queueing at reductions; 0 without any.
func (p *phase) cutQueueUs() float64 {
	if p.cutRtts == 0 {
		return 0
	}
	return math.Max(0, p.cutRttUs/float64(p.cutRtts)-p.baseUs)
}

// continues reports whether the time without samples had the rate of the rest. The kernel makes no
// samples behind a FIN.
func (p *phase) continues() bool {
	unseen := float64(p.unseenBytes) / math.Max(1, float64(p.ns[condNone]))
	all := p.ackedBytes + p.receivedBytes
	seen := float64(all-p.unseenBytes) / math.Max(1, float64(p.lengthNs()-p.ns[condNone]))
	return unseen > seen/sameRate && unseen < seen*sameRate
}

// steadyWindow is the share of time in which the window is within 3 % of its median.
func (p *phase) steadyWindow() float64 {
	return p.windowNear(medianOf(p.bins, func(b *bin) float64 { return b.cwnd.mean() }))
}

// windowNear is the share of time in which the window is within 3 % of a height in packets.
func (p *phase) windowNear(height float64) float64 {
	var near, all float64
	for i := range p.bins {
		b := &p.bins[i]
		if b.cwnd.count == 0 {
			continue
		}
		all += float64(b.lengthNs())
		if math.Abs(b.cwnd.mean()-height) <= 0.03*height {
			near += float64(b.lengthNs())
		}
	}
	return near / math.Max(1, all)
}

// group is the class of a bin by which the time is cut into phases.
type group uint8

const (
	groupNone group = iota
	groupQuiet
	groupReceives
	groupReceive
	groupBuffer
	groupPartial
	groupDevice
	groupPaced
	groupWindow
	groupSilent
)

// group classes a bin by the condition with the most time.
func (b *bin) group() group {
	length := b.lengthNs()
	if length <= 0 {
		return groupNone
	}
	if b.receives() {
		return groupReceives
	}
	if b.timeoutUs*1000 > length/2 {
		return groupSilent
	}
	best := condNone
	for c := range numConditions {
		if b.ns[c] > b.ns[best] {
			best = c
		}
	}
	quiet := b.ns[condIdle] + b.ns[condEmpty]
	if !b.fillsBuffer() {
		quiet += b.ns[condBuffer]
	}
	if quiet > length/2 {
		return groupQuiet
	}
	switch best {
	case condIdle, condEmpty:
		return groupQuiet
	case condReceive:
		return groupReceive
	case condBuffer:
		return groupBuffer
	case condPartial:
		return groupPartial
	case condDevice:
		return groupDevice
	case condPaced:
		return groupPaced
	case condWindow:
		return groupWindow
	}
	return groupNone
}

const (
	// smoothBins is the number of bins to each side whose groups vote.
	smoothBins = 3
	// leastPhaseNs is the least length of a phase; a shorter one joins a neighbour.
	leastPhaseNs = int64(1e9)
)

// cut cuts the bins into phases: runs of one group, as the neighbours of each bin vote by time. A
// run that waits for the path, or receives, is split where its rate changes for good, and where the
// PHY rate of its radio does, if it has one.
func cut(bins []bin, radio *link) [][]bin {
	groups := make([]group, len(bins))
	for i := range bins {
		var votes [groupSilent + 1]int64
		for j := max(0, i-smoothBins); j <= min(len(bins)-1, i+smoothBins); j++ {
			// A time without samples joins its neighbours: continues compares their rates.
			if g := bins[j].group(); g != groupNone || bins[j].unseenBytes == 0 {
				votes[g] += min(bins[j].lengthNs(), leastPhaseNs)
			}
		}
		best := groupNone
		for g, n := range votes {
			if n > votes[best] {
				best = group(g)
			}
		}
		groups[i] = best
	}
	var runs []run
	for i := range bins {
		if n := len(runs); n > 0 && runs[n-1].group == groups[i] {
			runs[n-1].end = i + 1
			continue
		}
		runs = append(runs, run{groups[i], i, i + 1})
	}
	var parts [][]bin
	for _, r := range joinShort(bins, runs) {
		runs := [][]bin{bins[r.start:r.end]}
		waits := r.group == groupWindow || r.group == groupPaced
		if radio != nil && (waits || r.group == groupDevice) {
			runs = split(runs[0], radio.logRates(runs[0]), false)
		}
		for _, run := range runs {
			if waits || r.group == groupReceives {
				parts = append(parts, split(run, logRates(run, !waits), !waits)...)
				continue
			}
			parts = append(parts, run)
		}
	}
	return parts
}

const (
	leastPartNs = int64(2e9) // length of a part after a split
	leastChange = 1.5        // factor between the rates of two parts
	leastGain   = 0.6        // part of the variance that a split explains
)

// logRates are the logarithms of the rate at each bin, over three bins, of data that is
// acknowledged or that is received.
func logRates(bins []bin, received bool) []float64 {
	logs := make([]float64, len(bins))
	for i := range bins {
		from := max(0, i-1)
		to := min(len(bins), i+2)
		var moved, length float64
		for j := from; j < to; j++ {
			if received {
				moved += float64(bins[j].receivedBytes)
			} else {
				moved += float64(bins[j].ackedBytes)
			}
			length += float64(bins[j].lengthNs())
		}
		logs[i] = math.Log(math.Max(1, moved) / math.Max(1, length))
	}
	return logs
}

// split cuts a run where a rate changes for seconds: the path has another capacity or other losses
// then. The part with another rate stands at either end or, if the middle is looked at, there, and
// explains most of the variance of the logarithm of the rate (circular binary segmentation, Olshen
// et al. 2004). In the middle a sender's groups tell more.
func split(bins []bin, logs []float64, middle bool) [][]bin {
	before := make([]moments, len(bins)+1) // sums of the bins before each
	for i := range bins {
		before[i+1] = before[i]
		before[i+1].add(logs[i], float64(bins[i].lengthNs()))
	}
	all := before[len(bins)]
	long := func(from, to int) bool {
		if to == len(bins) {
			return bins[to-1].toNs-bins[from].fromNs >= leastPartNs
		}
		return bins[to].fromNs-bins[from].fromNs >= leastPartNs
	}
	from := 0
	to := 0
	best := leastGain
	for i := range bins {
		if i > 0 && !long(0, i) {
			continue
		}
		for j := i + 1; j <= len(bins); j++ {
			if !long(i, j) || j < len(bins) && (i > 0 && !middle || !long(j, len(bins))) {
				continue
			}
			inside := before[j].without(before[i])
			outside := all.without(inside)
			gain := 1 - (inside.variation()+outside.variation())/math.Max(1e-9, all.variation())
			if gain > best && math.Abs(inside.mean()-outside.mean()) > math.Log(leastChange) {
				best = gain
				from = i
				to = j
			}
		}
	}
	var parts [][]bin
	for _, part := range [][2]int{{0, from}, {from, to}, {to, len(bins)}} {
		switch start, end := part[0], part[1]; {
		case end-start == len(bins):
			return [][]bin{bins}
		case end > start:
			parts = append(parts, split(bins[start:end], logs[start:end], middle)...)
		}
	}
	return parts
}

// moments are weighted sums of values and of their squares.
type moments struct{ weight, sum, squares float64 }

func (m *moments) add(v, weight float64) {
	m.weight += weight
	m.sum += v * weight
	m.squares += v * v * weight
}

func (m *moments) without(o moments) moments {
	return moments{m.weight - o.weight, m.sum - o.sum, m.squares - o.squares}
}

func (m *moments) mean() float64 { return m.sum / math.Max(1e-9, m.weight) }

// variation is the sum of the squared distances from the mean.
func (m *moments) variation() float64 { return math.Max(0, m.squares-m.sum*m.mean()) }

// run is a number of bins in a row with one group.
type run struct {
	group      group
	start, end int
}

func (r run) lengthNs(bins []bin) int64 { return bins[r.end-1].toNs - bins[r.start].fromNs }

// joinShort joins the shortest run with its longer neighbour until all runs are long enough.
func joinShort(bins []bin, runs []run) []run {
	for len(runs) > 1 {
		short := 0
		for i := range runs {
			if runs[i].lengthNs(bins) < runs[short].lengthNs(bins) {
				short = i
			}
		}
		if runs[short].lengthNs(bins) >= leastPhaseNs {
			break
		}
		into := short - 1
		if short == 0 || short+1 < len(runs) && runs[short+1].lengthNs(bins) > runs[into].lengthNs(bins) {
			into = short + 1
		}
		runs[into].start = min(runs[into].start, runs[short].start)
		runs[into].end = max(runs[into].end, runs[short].end)
		runs = slices.Delete(runs, short, short+1)
		runs = joinEqual(runs)
	}
	return runs
}

// joinEqual joins neighbours of one group.
func joinEqual(runs []run) []run {
	kept := runs[:1]
	for _, r := range runs[1:] {
		if last := &kept[len(kept)-1]; last.group == r.group {
			last.end = r.end
			continue
		}
		kept = append(kept, r)
	}
	return kept
}
