package diagnose

import "airtide/internal/tcp"

// bin sums up the samples and events of a time. Bins of one flow follow each other without gaps.
// All values are sums, extremes or counts, so that two bins can be merged.
type bin struct {
	fromNs, toNs int64
	samples      int32
	// turns counts data that came in after data had gone out.
	turns int32
	// answers counts data that came behind a silence of half a round trip, and held those parts of
	// a segment that came a timer later than a round trip.
	answers, held int32
	// ns is the time in each condition, as samples show it.
	ns [numConditions]int64
	// unseenBytes were acknowledged or received without a sample, in the time of condNone.
	unseenBytes int64
	// Growth of the chronographs in µs.
	busyUs, rwndUs, sndbufUs int64

	ackedBytes, receivedBytes             int64
	deliveredPackets, retrans, outOfOrder int64
	// RTTs of single segments in µs.
	rtt extremes
	// Levels.
	cwnd, inFlight, window, pacing, unsent extremes
	deviceQueue, sendMemory, receiveQueued extremes
	receiveWindow                          extremes
	receiverRtt                            extremes
	// Delays of both ways in µs beyond those of the flow's first timestamps.
	there, back extremes
	// queuedSamples counts samples with more than two segments received and not read.
	queuedSamples int32
	// fullAcks counts samples that acknowledge a full segment or more.
	fullAcks int32
	// filledWindows counts segments, as offloads join them, that filled the own window.
	filledWindows int32
	// fullSamples counts samples with a full send buffer.
	fullSamples int32
	// heldSamples counts samples with a send buffer that is full to two thirds, as samples show it.
	heldSamples int32
	// writes counts ends of silences with data outstanding in a capture, and released those of them
	// that an acknowledgement ended.
	writes, released int32
	// slowStart counts samples with a window below the threshold.
	slowStart int32
	// stalls counts the path's pauses that ended in this bin.
	stalls int32
	chrono bool // the chronographs are known
	// listens reports whether a polled connection had mainly received until then. In other sources
	// a silence is part of a bin with data.
	listens bool
	// stallNs is the length of the path's pauses.
	stallNs int64
	// dataNs is the time between arrivals of data that are less than maxDataGap round trips apart.
	dataNs int64
	// unaskedNs is the idle time that ended with an acknowledgement of own data: until then the
	// program had sent nothing.
	unaskedNs int64
	// shutNs is the time for which the own window was full.
	shutNs int64
	// gapNs is the time in which data came behind a gap.
	gapNs int64
	// recoverNs is the time in loss recovery.
	recoverNs int64

	// Events.
	timeouts   int32
	reductions int32 // reductions of cwnd other than by timeouts and local congestion
	timeoutUs  int64 // sum of the RTOs that ran out
	rankSum    float64
	ranks      int32
	// Congestion windows at reductions outside the first slow start: sum and sum of squares.
	cutSum, cutSquares float64
	cuts               int32
	// RTTs at all reductions: their sum and number.
	cutRttUs       float64
	cutRtts        int32
	localRefusals  int32
	reorderings    int32
	undos          int32
	dsacks         int32
	zeroWindows    int32
	ownZeroWindows int32
	firstResent    int32 // segments sent again from the connection's first reduction to the second
	fullResent     int32 // retransmissions of full segments
	// askedAcks counts data of held that a delayed ACK of this end released: it had sent no data.
	askedAcks int32
}

// extremes are the least, greatest and mean value of a level. Single precision halves the memory of
// a bin; the thresholds are coarser.
type extremes struct {
	sum             float64
	least, greatest float32
	count           uint32
}

func (e *extremes) add(v int64) {
	if v == tcp.Absent {
		return
	}
	x := float32(v)
	if e.count == 0 || x < e.least {
		e.least = x
	}
	if e.count == 0 || x > e.greatest {
		e.greatest = x
	}
	e.sum += float64(v)
	e.count++
}

func (e *extremes) merge(o *extremes) {
	if o.count == 0 {
		return
	}
	if e.count == 0 {
		*e = *o
		return
	}
	e.least = min(e.least, o.least)
	e.greatest = max(e.greatest, o.greatest)
	e.sum += o.sum
	e.count += o.count
}

// mean is 0 without values.
func (e *extremes) mean() float64 {
	if e.count == 0 {
		return 0
	}
	return e.sum / float64(e.count)
}

func (b *bin) lengthNs() int64 { return b.toNs - b.fromNs }

// merge adds a later bin.
func (b *bin) merge(o *bin) {
	b.toNs = max(b.toNs, o.toNs)
	b.samples += o.samples
	for i := range b.ns {
		b.ns[i] += o.ns[i]
	}
	b.unseenBytes += o.unseenBytes
	b.busyUs += o.busyUs
	b.rwndUs += o.rwndUs
	b.sndbufUs += o.sndbufUs
	b.chrono = b.chrono || o.chrono
	b.ackedBytes += o.ackedBytes
	b.receivedBytes += o.receivedBytes
	b.deliveredPackets += o.deliveredPackets
	b.retrans += o.retrans
	b.outOfOrder += o.outOfOrder
	b.turns += o.turns
	b.answers += o.answers
	b.held += o.held
	b.askedAcks += o.askedAcks
	levels := b.levels()
	others := o.levels()
	for i := range levels {
		levels[i].merge(others[i])
	}
	b.queuedSamples += o.queuedSamples
	b.writes += o.writes
	b.released += o.released
	b.slowStart += o.slowStart
	b.dataNs += o.dataNs
	b.unaskedNs += o.unaskedNs
	b.filledWindows += o.filledWindows
	b.listens = o.listens
	b.shutNs += o.shutNs
	b.gapNs += o.gapNs
	b.stallNs += o.stallNs
	b.stalls += o.stalls
	b.recoverNs += o.recoverNs
	b.timeouts += o.timeouts
	b.timeoutUs += o.timeoutUs
	b.reductions += o.reductions
	b.rankSum += o.rankSum
	b.ranks += o.ranks
	b.cutSum += o.cutSum
	b.cutSquares += o.cutSquares
	b.cutRttUs += o.cutRttUs
	b.cutRtts += o.cutRtts
	b.cuts += o.cuts
	b.fullSamples += o.fullSamples
	b.heldSamples += o.heldSamples
	b.localRefusals += o.localRefusals
	b.reorderings += o.reorderings
	b.undos += o.undos
	b.dsacks += o.dsacks
	b.zeroWindows += o.zeroWindows
	b.ownZeroWindows += o.ownZeroWindows
	b.firstResent += o.firstResent
	b.fullResent += o.fullResent
	b.fullAcks += o.fullAcks
}

func (b *bin) levels() [13]*extremes {
	return [...]*extremes{
		&b.rtt, &b.cwnd, &b.inFlight, &b.window, &b.pacing, &b.unsent, &b.deviceQueue, &b.sendMemory,
		&b.receiveQueued, &b.receiveWindow, &b.receiverRtt, &b.there, &b.back,
	}
}
