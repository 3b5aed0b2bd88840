package message

import (
	"testing"

	"airtide/internal/share/cellkey"
)

// The key of a cell is rotated at one terminal and at the hub after the other, and the old key is
// retired. Every terminal counts with every other one all the time.
func TestARotationOfTheKeyBreaksNothing(t *testing.T) {
	old := cellkey.New()
	fresh := cellkey.New()
	m := meet(old, 4)
	now := m.run(t, 0, 20*second, m.complete)
	if !m.complete(now) {
		t.Fatal("the terminals do not know each other")
	}
	wait := func() {
		t.Helper()
		end := now + 10*second
		lost := m.run(t, now, end, func(at int64) bool { return !m.complete(at) })
		if lost != end {
			t.Fatalf("after %d s a terminal has lost another one", lost/second)
		}
		now = end
	}
	for _, p := range []cellkey.Pair{{New: fresh, Old: old}, {New: fresh}} {
		for i, a := range m.agents {
			if i == 2 {
				m.hub.SetKeys(p)
				wait()
			}
			a.SetKeys(p)
			wait()
		}
	}
	// The old key is worth nothing now.
	d := behindHub(old, 9, now).send(t, now)
	_, reason := m.agents[0].Receive(address(9), d, now)
	want(t, "the old key", reason, OtherCell)
}

// During a rotation terminals hear each other directly, whichever keys they have.
func TestEachKeyOfARotationHasItsTurn(t *testing.T) {
	old := cellkey.New()
	fresh := cellkey.New()
	a := newAgent(old, 1, 0)
	b := newAgent(old, 2, 0)
	acquaint(t, a, b, 0)
	a.SetKeys(cellkey.Pair{New: fresh, Old: old})
	tags := map[cellkey.Tag]int{}
	for i := range 10 {
		now := int64(1+i) * 100 * ms
		next := a.NextKey().Tag()
		d := a.send(t, now)
		tag, _ := TagOf(d)
		if tag != next {
			t.Fatalf("sealed under %s, announced %s", tag, next)
		}
		tags[tag]++
		_, reason := b.Receive(a.at, d, now)
		expected := OtherCell
		if tag == old.Tag() {
			expected = Accepted
		}
		want(t, "at a terminal of the old key", reason, expected)
		want(t, "at one of both", tell(t, b, a, now), Accepted)
	}
	if tags[old.Tag()] != 5 || tags[fresh.Tag()] != 5 {
		t.Errorf("sealed under %v", tags)
	}
}
