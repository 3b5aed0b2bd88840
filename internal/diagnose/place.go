package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"airtide/internal/tcp"
	"airtide/internal/units"
)

// Places joins retransmissions with the packets that this host dropped. It takes the events of one
// flow in the order of time. The zero value has seen none.
type Places struct {
	dropped []droppedRange // not yet sent again, apart from each other, in the order of the stream
	here    []Place
	beyond  int64
}

// droppedRange is a part of the stream that was dropped.
type droppedRange struct {
	tcp.Block
	place string
}

// maxDropped bounds the ranges of a flow. Beyond it the first half goes. A burst of losses in a
// queue of this host has fewer gaps.
const maxDropped = 512

// maxPlaces bounds the places of a flow.
const maxPlaces = 16

// Place is a place in this host at which packets were lost: the kernel's reason and the device.
type Place struct {
	Name    string `json:"place"`
	Packets int64  `json:"packets"` // packets that were sent again
}

// Losses tells where the packets were lost that were sent again.
type Losses struct {
	Here []Place `json:"here"` // most first
	// Beyond counts those that this host did not drop: they were lost beyond it, or not at all.
	Beyond int64 `json:"beyond_packets"`
}

// Event takes an event.
func (p *Places) Event(e *tcp.Event) {
	switch {
	case e.Kind == tcp.EventDrop && e.From == tcp.DirectionSent && e.EndSeq > e.Seq:
		at := p.cut(e.Seq, e.EndSeq, func(string, int64) {})
		p.dropped = slices.Insert(p.dropped, at, droppedRange{tcp.Block{Start: e.Seq, End: e.EndSeq}, e.Text})
	case e.Kind == tcp.EventRetransmit:
		p.retransmit(e)
	}
	if len(p.dropped) > maxDropped {
		p.dropped = slices.Delete(p.dropped, 0, maxDropped/2)
	}
}

// retransmit takes the dropped bytes that are sent again out of the list: if they are sent once
// more, another packet was lost.
func (p *Places) retransmit(e *tcp.Event) {
	packets := max(1, e.Value)
	length := max(1, e.EndSeq-e.Seq)
	left := packets
	p.cut(e.Seq, e.EndSeq, func(place string, bytes int64) {
		n := min(left, (packets*bytes+length-1)/length)
		p.add(place, n)
		left -= n
	})
	p.beyond += left
}

// cut takes a range of the stream out of the dropped ranges. It calls of with the bytes of each
// part, and returns the index at which the range would stand.
func (p *Places) cut(from, to int64, of func(place string, bytes int64)) (at int) {
	if to <= from {
		return 0
	}
	all := p.dropped
	at = sort.Search(len(all), func(i int) bool { return from < all[i].End })
	behind := at
	var before, rest []droppedRange
	for ; behind < len(all) && all[behind].Start < to; behind++ {
		d := all[behind]
		of(d.place, min(to, d.End)-max(from, d.Start))
		if d.Start < from {
			before = append(before, droppedRange{tcp.Block{Start: d.Start, End: from}, d.place})
		}
		if to < d.End {
			rest = append(rest, droppedRange{tcp.Block{Start: to, End: d.End}, d.place})
		}
	}
	if behind > at {
		p.dropped = slices.Replace(all, at, behind, append(before, rest...)...)
	}
	return at + len(before)
}

func (p *Places) add(name string, packets int64) {
	if packets <= 0 {
		return
	}
	for i := range p.here {
		if p.here[i].Name == name || i == maxPlaces-1 {
			p.here[i].Packets += packets
			return
		}
	}
	p.here = append(p.here, Place{name, packets})
}

// Losses returns the counts so far.
func (p *Places) Losses() *Losses {
	l := &Losses{Here: append([]Place{}, p.here...), Beyond: p.beyond}
	l.sort()
	return l
}

func (l *Losses) sort() {
	slices.SortStableFunc(l.Here, func(a, b Place) int { return cmp.Compare(b.Packets, a.Packets) })
}

// Add adds the counts of another flow.
func (l *Losses) Add(o *Losses) {
	sum := Places{here: l.Here, beyond: l.Beyond + o.Beyond}
	for _, place := range o.Here {
		sum.add(place.Name, place.Packets)
	}
	l.Here = sum.here
	l.Beyond = sum.beyond
	l.sort()
}

// String is a sentence: "lost here, at qdisc_drop at eth0: 12 packets; lost beyond this host: 3
// packets".
func (l *Losses) String() string {
	var texts []string
	for _, place := range l.Here {
		texts = append(texts, fmt.Sprintf("lost here, %s: %s", units.Printable(place.Name),
			units.Count(place.Packets, "packet")))
	}
	if l.Beyond > 0 {
		texts = append(texts, "lost beyond this host, or sent again without need: "+units.Count(l.Beyond, "packet"))
	}
	if len(texts) == 0 {
		return "nothing was sent again"
	}
	return strings.Join(texts, "; ")
}
