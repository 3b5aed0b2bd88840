package diagnose

import (
	"math"

	"airtide/internal/units"
)

// capturedReader judges the reader by the windows that it advertises: they shrink while data
// waits for it.
func capturedReader(p *phase) *match {
	window := p.ownWindowBytes()
	greatest := float64(p.flow.maxReceiveWnd)
	shut := float64(p.shutNs) / math.Max(1, float64(p.lengthNs()))
	silent := p.ownZeroWindows > fewClosed && p.dataNs < p.lengthNs()/2
	if shut > shutShare || silent {
		return verdict(ReceivingApplication, false).
			because("local_zero_window", "the window was full %s, for %s of the time",
				units.Count(int64(p.ownZeroWindows), "time"), units.Percent(shut))
	}
	need := p.perRoundTrip()
	if window >= shrunkWindow*greatest || need < window/2 && p.ownZeroWindows == 0 || need < hugeWindow*window {
		return nil
	}
	m := verdict(ReceivingApplication, false).
		because("receive_window_bytes", "the window was %s on average and %s at most", bytes(window),
			bytes(greatest))
	if p.ownZeroWindows == 0 {
		m.or = []Limit{ReceiveWindow} // the program or the kernel may have bounded it meanwhile
	}
	return m
}

// unread is the part of the samples in which data waited to be read, and the part of the window
// that it took on average.
func (p *phase) unread() (samples, window float64) {
	queued := p.receiveQueued.mean()
	return float64(p.queuedSamples) / math.Max(1, float64(p.receiveQueued.count)),
		queued / math.Max(1, queued+p.receiveWindow.mean())
}

func reader(p *phase) *match {
	if p.flow.source == Captured {
		return capturedReader(p)
	}
	if shut := float64(p.shutNs) / float64(p.lengthNs()); shut > shutShare {
		return verdict(ReceivingApplication, shut > 0.7).
			because("receive_window_bytes", "the window was closed for %s of the time, and %s waited to be read",
				units.Percent(shut), bytes(p.receiveQueued.mean()))
	}
	queued, waits := p.unread()
	// A small buffer closes at times though the program reads at once.
	if queued < 0.5 || waits < readerQueue {
		return nil
	}
	m := verdict(ReceivingApplication, queued > 0.7 && waits > 0.5).
		because("receive_queued_bytes", "data waited to be read in %s of the samples, %s on average",
			units.Percent(queued),
			bytes(p.receiveQueued.mean()))
	if p.ownZeroWindows > 0 {
		m.because("local_zero_window", "the window closed %s", units.Count(int64(p.ownZeroWindows), "time"))
	}
	return m
}

func ownWindow(p *phase) *match {
	if filled := float64(p.filledWindows) / math.Max(1, float64(p.receiveWindow.count)); filled > 0.5 {
		return verdict(ReceiveWindow, filled > 0.8).
			because("receive_window_bytes", "%s of the segments filled the window of %s: the sender waited for each "+
				"acknowledgement", units.Percent(filled), bytes(p.receiveWindow.mean()))
	}
	need := p.perRoundTrip()
	window := p.ownWindowBytes()
	if window == 0 || need < filledWindow*window {
		return nil
	}
	m := verdict(ReceiveWindow, need > 0.85*window).
		because("receive_window_bytes", "%s arrive each round trip of %s, and the window is %s", bytes(need),
			milliseconds(p.receiverRtt.mean()), bytes(window))
	rttUs := p.receiverRttUs()
	if p.baseUs > 0 && p.overlong(rttUs-p.baseUs) {
		m.certainty = Likely
		m.or = []Limit{Capacity, NetworkQueue}
		m.because("receiver_rtt_us", "a round trip takes %s, and at least %s: a queue may stand on the way, and a "+
			"larger window would only lengthen it", milliseconds(rttUs), milliseconds(p.baseUs))
	}
	if p.unscaled() {
		m.because("receive_window_bytes", "it never exceeded %d bytes: the connection has no window scaling, or the "+
			"program bounded the window", unscaledWindow)
	}
	return m
}

// unscaledWindow is the greatest window in bytes without window scaling (RFC 7323).
const unscaledWindow = 65535

// unscaled reports whether the own window is as large as it can be without scaling.
func (p *phase) unscaled() bool {
	return p.receiveWindow.greatest <= unscaledWindow && p.receiveWindow.greatest > unscaledWindow-2*segmentBytes
}

func noData(p *phase) *match {
	came := float64(p.dataNs) / float64(p.lengthNs())
	if came > 0.5 {
		return nil
	}
	if unasked := float64(p.unaskedNs) / float64(p.lengthNs()); unasked > (1-came)/2 {
		m := verdict(Idle, unasked > 0.7)
		m.or = []Limit{Application} // it may still work on what came
		return m.because("unacked_bytes", "for %s of the time nothing was outstanding, until this end's program sent "+
			"data: it had asked for nothing", units.Percent(unasked))
	}
	return verdict(NoData, came < 0.3).
		because("received_bytes", "for %s of the time no data came within %d round trips", units.Percent(1-came),
			maxDataGap)
}

func gaps(p *phase) *match {
	share := float64(p.gapNs) / float64(p.lengthNs())
	if share < 0.1 {
		return nil
	}
	return verdict(Gaps, share > 0.2).
		because("out_of_order_packets", "%s came behind a gap, for %s of the time",
			units.Count(p.outOfOrder, "packet"), units.Percent(share))
}

func peer(p *phase) *match {
	window := p.ownWindowBytes()
	queued, waits := p.unread()
	lags := queued > 0.5 && waits > readerQueue/2
	m := verdict(SenderOrNetwork, p.perRoundTrip() < roomyWindow*window && !lags).
		because("received_bytes", "%s came in", rate(p.receiveBps()))
	if lags {
		m.because("receive_queued_bytes", "%s waited to be read on average, and the window of %s had room",
			bytes(p.receiveQueued.mean()), bytes(window))
		m.or = append(m.or, ReceivingApplication)
	} else if window > 0 {
		m.because("receive_window_bytes", "the window of %s had room, and the program read at once",
			bytes(window))
	} else {
		m.because("receive_window_bytes", "its window is unknown: the capture lacks the handshake")
	}
	m.or = append(m.or, Application, SendBuffer, CwndBound, Pacing, OwnQueue, Capacity, NetworkQueue)
	if m.certainty < Certain {
		m.or = append(m.or, ReceiveWindow)
	}
	return m.mayTakeTurns(p)
}
