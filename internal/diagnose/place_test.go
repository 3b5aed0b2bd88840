package diagnose

import (
	"reflect"
	"testing"

	"airtide/internal/tcp"
)

func dropOf(from, to int64, place string) tcp.Event {
	return tcp.Event{Kind: tcp.EventDrop, From: tcp.DirectionSent, Seq: from, EndSeq: to, Text: place}
}

func again(from, to, packets int64) tcp.Event {
	return tcp.Event{Kind: tcp.EventRetransmit, Seq: from, EndSeq: to, Value: packets}
}

func TestRetransmissionsAreJoinedWithTheDropOfTheSameBytes(t *testing.T) {
	received := dropOf(0, 1000, "qdisc_drop at eth0")
	received.From = tcp.DirectionReceived
	for _, c := range []struct {
		name   string
		events []tcp.Event
		want   Losses
	}{
		{"nothing", nil, Losses{Here: []Place{}}},
		{
			"a drop, sent again once",
			[]tcp.Event{dropOf(1000, 2000, "qdisc_drop at eth0"), again(1000, 2000, 1)},
			Losses{Here: []Place{{"qdisc_drop at eth0", 1}}},
		},
		{
			"the second time another packet was lost",
			[]tcp.Event{dropOf(1000, 2000, "qdisc_drop at eth0"), again(1000, 2000, 1), again(1000, 2000, 1)},
			Losses{Here: []Place{{"qdisc_drop at eth0", 1}}, Beyond: 1},
		},
		{
			"other bytes",
			[]tcp.Event{dropOf(1000, 2000, "qdisc_drop at eth0"), again(2000, 3000, 1)},
			Losses{Here: []Place{}, Beyond: 1},
		},
		{
			"a joined packet, sent again in two parts",
			[]tcp.Event{
				dropOf(0, 4000, "qdisc_drop at eth0"), again(1000, 2000, 1), again(2000, 5000, 3), again(0, 1000, 1),
			},
			Losses{Here: []Place{{"qdisc_drop at eth0", 4}}, Beyond: 1},
		},
		{
			"two places, the greater first",
			[]tcp.Event{dropOf(0, 1000, "a"), dropOf(1000, 3000, "b"), again(0, 3000, 3)},
			Losses{Here: []Place{{"b", 2}, {"a", 1}}},
		},
		{
			"dropped data that this end was to receive",
			[]tcp.Event{received, again(0, 1000, 1)},
			Losses{Here: []Place{}, Beyond: 1},
		},
	} {
		var p Places
		for i := range c.events {
			p.Event(&c.events[i])
		}
		if got := p.Losses(); !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s: %+v, want %+v", c.name, *got, c.want)
		}
	}
}

func TestDropsAreBounded(t *testing.T) {
	var p Places
	for i := range int64(3 * maxDropped) {
		e := dropOf(2000*i, 2000*i+1000, string(rune('a'+i%26)))
		p.Event(&e)
	}
	if len(p.dropped) > maxDropped {
		t.Errorf("%d ranges", len(p.dropped))
	}
	e := again(0, 2000*3*maxDropped, maxDropped)
	p.Event(&e)
	if len(p.here) > maxPlaces || len(p.dropped) > 0 {
		t.Errorf("%d places, %d ranges left", len(p.here), len(p.dropped))
	}
}

func TestLossesSayWhere(t *testing.T) {
	l := Losses{Here: []Place{{"qdisc_drop at eth0\x1b", 2}}, Beyond: 1}
	const want = "lost here, qdisc_drop at eth0?: 2 packets; " +
		"lost beyond this host, or sent again without need: 1 packet"
	if got := l.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	l.Add(&Losses{Here: []Place{{"b", 5}}, Beyond: 1})
	if !reflect.DeepEqual(l.Here, []Place{{"b", 5}, {"qdisc_drop at eth0\x1b", 2}}) || l.Beyond != 2 {
		t.Errorf("the sum is %+v", l)
	}
}

// Retransmissions may cut ranges into parts without end. Their number is bounded too.
func TestPartsOfDropsAreBounded(t *testing.T) {
	var p Places
	for range 2 * maxDropped {
		e := dropOf(0, 1<<40, "queue")
		p.Event(&e)
	}
	for i := range int64(100_000) {
		e := again(20*i, 20*i+10, 1)
		p.Event(&e)
		e = again(20*i+5, 20*i, 1) // empty
		p.Event(&e)
	}
	if len(p.dropped) > maxDropped {
		t.Errorf("%d ranges", len(p.dropped))
	}
}
