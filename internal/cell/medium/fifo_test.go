package medium

import "airtide/internal/cell/queue"

// sharedFIFO is one queue for all stations, from which an A-MPDU takes the packets of one receiver:
// ns-3's access point.
type sharedFIFO struct {
	limit   int
	packets []*queue.Packet
	ofs     []int // packets of each station
	drop    func(p *queue.Packet, at queue.Place, atNs int64)
}

func (q *sharedFIFO) Push(p *queue.Packet, nowNs int64) {
	if len(q.packets) >= q.limit {
		q.drop(p, queue.PlaceAPQueue, nowNs)
		return
	}
	p.EnteredNs = nowNs
	q.packets = append(q.packets, p)
	q.ofs[p.Station]++
}

func (q *sharedFIFO) Turn(int64) (int, bool) {
	if len(q.packets) == 0 {
		return 0, false
	}
	return q.packets[0].Station, true
}

func (q *sharedFIFO) find(station int) int {
	if q.ofs[station] == 0 {
		return -1
	}
	for i, p := range q.packets {
		if p.Station == station {
			return i
		}
	}
	return -1
}

func (q *sharedFIFO) Head(station int, _ int64) *queue.Packet {
	if i := q.find(station); i >= 0 {
		return q.packets[i]
	}
	return nil
}

func (q *sharedFIFO) Pop(station int, _ int64) *queue.Packet {
	i := q.find(station)
	p := q.packets[i]
	q.packets = append(q.packets[:i], q.packets[i+1:]...)
	q.ofs[station]--
	return p
}

func (q *sharedFIFO) Charge(int, int64)     {}
func (q *sharedFIFO) Len() int              { return len(q.packets) }
func (q *sharedFIFO) Bytes() int            { return 0 }
func (q *sharedFIFO) LenOf(station int) int { return q.ofs[station] }
