package queue

import "testing"

// thinned returns an ACK thinning queue and its dropped packets.
func thinned(t *testing.T) (q *AckThinning, dropped *[]*Packet) {
	t.Helper()
	dropped = new([]*Packet)
	q = NewAckThinning(2, func(p *Packet, at Place, _ int64) { *dropped = append(*dropped, p) },
		func(d Drop) Thinnable { return NewSharedFIFO(2, Limit{Packets: 100}, d) })
	return q, dropped
}

func acknowledge(flow uint32, number uint32) *Packet {
	return &Packet{Flow: flow, Ack: true, AckNumber: number, Length: 52}
}

func TestALaterAcknowledgementTakesTheEarlierOnesPlace(t *testing.T) {
	data := func(flow uint32) *Packet { return &Packet{Flow: flow, Length: 1500} }
	for _, c := range []struct {
		name    string
		packets []*Packet
		want    []int // what leaves, by index
	}{
		{"the last of many", []*Packet{acknowledge(1, 10), acknowledge(1, 20), acknowledge(1, 30)}, []int{2}},
		{"in the place of the first", []*Packet{acknowledge(1, 10), data(2), acknowledge(1, 20)}, []int{2, 1}},
		{"not of another flow", []*Packet{acknowledge(1, 10), acknowledge(2, 20)}, []int{0, 1}},
		{"not a duplicate", []*Packet{acknowledge(1, 10), acknowledge(1, 10), acknowledge(1, 10)}, []int{0, 1, 2}},
		{"not an earlier one", []*Packet{acknowledge(1, 20), acknowledge(1, 10)}, []int{0, 1}},
		{"past zero", []*Packet{acknowledge(1, 0xfffffff0), acknowledge(1, 0x10)}, []int{1}},
		{"not past data of its flow", []*Packet{acknowledge(1, 10), data(1), acknowledge(1, 20)}, []int{0, 1, 2}},
		{"after data of its flow", []*Packet{data(1), acknowledge(1, 10), acknowledge(1, 20)}, []int{0, 2}},
	} {
		q, dropped := thinned(t)
		for i, p := range c.packets {
			q.Push(p, int64(i))
		}
		var got []*Packet
		for q.Len() > 0 {
			got = append(got, q.Pop(0, 100))
		}
		if len(got) != len(c.want) || len(got)+len(*dropped) != len(c.packets) || int(q.Thinned()) != len(*dropped) {
			t.Errorf("%s: %d left, %d dropped, %d thinned, want %d left", c.name, len(got), len(*dropped), q.Thinned(),
				len(c.want))
			continue
		}
		for i, w := range c.want {
			if got[i] != c.packets[w] {
				t.Errorf("%s: packet %d to leave is not packet %d", c.name, i, w)
			}
		}
	}
}

func TestAPromisedHeadIsNotThinned(t *testing.T) {
	q, dropped := thinned(t)
	first := acknowledge(1, 10)
	q.Push(first, 0)
	if q.Head(0, 0) != first {
		t.Fatal("the head is not the packet that waits")
	}
	q.Push(acknowledge(1, 20), 0)
	last := acknowledge(1, 30)
	q.Push(last, 0)
	if got := q.Pop(0, 0); got != first {
		t.Error("the head was replaced")
	}
	if got := q.Pop(0, 0); got != last || len(*dropped) != 1 {
		t.Errorf("%d dropped, want 1", len(*dropped))
	}
}

func TestThinningKeepsOneAcknowledgementForEachUpload(t *testing.T) {
	q, _ := thinned(t)
	for i := range uint32(1000) {
		for flow := range uint32(4) {
			q.Push(acknowledge(flow, 1448*i), int64(i))
		}
		if q.Len() > 4 {
			t.Fatalf("%d acknowledgements of 4 flows wait", q.Len())
		}
	}
	// The queue forgets packets that left: the next acknowledgement is queued, and does not
	// replace one of them.
	for q.Len() > 0 {
		q.Pop(0, 2000)
	}
	q.Push(acknowledge(0, 1448*2000), 2000)
	if q.Len() != 1 {
		t.Error("an acknowledgement was lost")
	}
}

func TestThinningKeepsTheBytesOfAStation(t *testing.T) {
	refused := 0
	q := NewAckThinning(1, func(p *Packet, _ Place, _ int64) {
		if p.AckNumber == 3 {
			refused++
		}
	}, func(d Drop) Thinnable { return NewRoundRobin(1, Limit{}, Limit{Bytes: 200}, d) })
	for _, p := range []*Packet{
		{Flow: 1, Ack: true, AckNumber: 1, Length: 52},
		{Flow: 1, Ack: true, AckNumber: 2, Length: 100}, // in the first one's place
		{Flow: 2, Ack: true, AckNumber: 2, Length: 52},
		{Flow: 3, Ack: true, AckNumber: 3, Length: 60},
	} {
		q.Push(p, 0)
	}
	if refused != 1 || q.Bytes() != 152 {
		t.Errorf("%d bytes wait and %d packets were refused, want 152 and 1", q.Bytes(), refused)
	}
}
