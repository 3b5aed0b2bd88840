package queue

// list is a FIFO of packets that are linked through their own fields, so that no memory is
// allocated.
type list struct {
	head, tail *Packet
	packets    int
	bytes      int
}

func (l *list) push(p *Packet) {
	p.next = nil
	p.prev = l.tail
	if l.tail == nil {
		l.head = p
	} else {
		l.tail.next = p
	}
	l.tail = p
	l.packets++
	l.bytes += p.Length
}

// pop removes and returns the oldest packet, or nil.
func (l *list) pop() *Packet {
	p := l.head
	if p == nil {
		return nil
	}
	l.head = p.next
	if l.head == nil {
		l.tail = nil
	} else {
		l.head.prev = nil
	}
	p.next = nil
	l.packets--
	l.bytes -= p.Length
	return p
}

// replace puts a packet in the place of a waiting packet.
func (l *list) replace(old, with *Packet) {
	with.next = old.next
	with.prev = old.prev
	if old.prev == nil {
		l.head = with
	} else {
		old.prev.next = with
	}
	if old.next == nil {
		l.tail = with
	} else {
		old.next.prev = with
	}
	old.next = nil
	old.prev = nil
	l.bytes += with.Length - old.Length
}

// stationList is a FIFO of station numbers, each at most once. Lists that exchange stations share
// their links.
type stationList struct {
	next        []int32
	first, last int32
}

const none = -1

func newStationList(links []int32) stationList {
	return stationList{next: links, first: none, last: none}
}

func (l *stationList) empty() bool { return l.first == none }

func (l *stationList) push(station int) {
	l.next[station] = none
	if l.last == none {
		l.first = int32(station)
	} else {
		l.next[l.last] = int32(station)
	}
	l.last = int32(station)
}

func (l *stationList) pop() int {
	s := l.first
	l.first = l.next[s]
	if l.first == none {
		l.last = none
	}
	return int(s)
}
