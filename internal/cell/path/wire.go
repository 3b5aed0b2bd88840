package path

import (
	"sort"

	"airtide/internal/cell/queue"
)

// maxRateBps keeps the arithmetic of a frame's time within 64 bits.
const maxRateBps = 1e12

// frame waits for the wire or is on it.
type frame struct {
	number    uint64 // its packet's number
	length    int    // length of the IP packet, bytes
	enteredNs int64
	startNs   int64 // start of its preamble
	endNs     int64 // end of its last bit; the gap follows
}

// wire is a FIFO and a link by virtual clock: the times of a frame are known as soon as it enters,
// so no event is needed when it leaves the queue or the wire.
type wire struct {
	Wire
	// frames that had not begun when the wire was last looked at.
	frames ring[frame]
	// freeNs is the time at which the wire can start the next frame. fraction is the rounding rest
	// in units of 1/RateBps ns, so that rounding errors do not accumulate.
	freeNs, fraction int64
	waitingBytes     int
	statistics       queue.Statistics
}

// settle lets the frames begin that are due.
func (w *wire) settle(nowNs int64) {
	for w.frames.count > 0 && w.frames.front().startNs <= nowNs {
		f := w.frames.pop()
		w.waitingBytes -= f.length
		w.statistics.Length.Add(-1, f.startNs)
		w.begun(f.length, f.startNs-f.enteredNs)
	}
}

func (w *wire) begun(length int, waitedNs int64) {
	w.statistics.Popped++
	w.statistics.PoppedBytes += int64(length)
	w.statistics.Sojourn.Add(waitedNs)
}

// enter queues a packet and returns the arrival time of its last bit, or false if the queue is
// full.
func (w *wire) enter(number uint64, length int, nowNs int64) (endNs int64, ok bool) {
	w.settle(nowNs)
	w.statistics.Pushed++
	if w.freeNs > nowNs && w.Limit.Over(w.frames.count+1, w.waitingBytes+length) {
		w.statistics.Dropped++
		return 0, false
	}
	startNs, endNs := w.send(length, nowNs)
	if startNs <= nowNs {
		w.begun(length, 0)
		return endNs, true
	}
	w.frames.push(frame{number: number, length: length, enteredNs: nowNs, startNs: startNs, endNs: endNs})
	w.waitingBytes += length
	w.statistics.Length.Add(1, nowNs)
	return endNs, true
}

// send reserves the wire for the next frame.
func (w *wire) send(length int, nowNs int64) (startNs, endNs int64) {
	if w.RateBps == 0 {
		startNs = max(nowNs, w.freeNs)
		w.freeNs = startNs
		return startNs, startNs
	}
	if w.freeNs < nowNs {
		w.freeNs = nowNs
		w.fraction = 0
	}
	bytes := EthernetBytes(length)
	startNs = w.freeNs
	endNs = startNs + (int64(bytes-gapBytes)*8e9+w.fraction)/w.RateBps
	w.fraction += int64(bytes) * 8e9
	w.freeNs += w.fraction / w.RateBps
	w.fraction %= w.RateBps
	return startNs, endNs
}

// change replaces the wire. It returns a function that gives the shift of a waiting packet's
// arrival by the packet's number.
func (w *wire) change(to Wire, nowNs int64) (shift func(number uint64) int64) {
	w.settle(nowNs)
	same := to.RateBps == w.RateBps
	w.Wire = to
	if same {
		return nil
	}
	w.fraction = 0 // it was in units of the old rate
	if w.frames.count == 0 {
		return nil
	}
	numbers := make([]uint64, w.frames.count)
	moved := make([]int64, w.frames.count)
	// The frame on the wire ends, with its gap, when the first waiting one was to begin.
	w.freeNs = w.frames.front().startNs
	for i := range w.frames.count {
		f := w.frames.at(i)
		startNs, endNs := w.send(f.length, nowNs)
		numbers[i] = f.number
		moved[i] = endNs - f.endNs
		f.startNs = startNs
		f.endNs = endNs
	}
	return func(number uint64) int64 {
		// A duplicate has the number after its original's.
		i := sort.Search(len(numbers), func(i int) bool { return numbers[i] > number })
		if i == 0 {
			return 0
		}
		return moved[i-1]
	}
}
