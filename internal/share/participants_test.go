package share

import (
	"testing"
	"time"

	"airtide/internal/share/control"
	"airtide/internal/share/message"
	"airtide/internal/tcp"
)

// TestWhoBeginsToTakePartIsDoubtedNoLongerThanATurn: its queues were others' until then.
func TestWhoBeginsToTakePartIsDoubtedNoLongerThanATurn(t *testing.T) {
	now := time.Minute
	f := &flow{up: side{base: 2 * time.Millisecond, foreign: 60 * time.Millisecond}}
	peer := func(state message.State) []message.Peer {
		return []message.Peer{{Report: message.Report{Session: 7, State: state}, HeardNs: int64(now)}}
	}
	a := &agent{
		control: control.New(control.Options{}), self: self{flows: map[tcp.FlowID]*flow{1: f}},
		together: together{turns: control.NewTurns(1), still: stillness{at: now, every: stillForeign}},
	}
	step := func(state message.State) {
		a.peers = peer(state)
		a.together.hears(now, a)
	}
	step(message.Observing)
	if f.up.doubted || a.together.still.every != stillForeign {
		t.Errorf("somebody who takes no part made others' queues doubtful, to be looked for after %s", a.together.still.every)
	}
	step(message.Controlling)
	if !f.up.doubted || a.together.still.every != 0 {
		t.Errorf("with another who takes part: doubted %v, to be looked for after %s", f.up.doubted, a.together.still.every)
	}
	if f.up.stillSum, f.up.stillSteps = 3*time.Millisecond, 1; f.up.renew() || f.up.foreign != 0 {
		t.Errorf("one look without queues left them standing: %s", f.up.foreign)
	}
	f.up.foreign, a.together.still.every = 60*time.Millisecond, stillForeign
	step(message.Controlling)
	if f.up.doubted || a.together.still.every != stillForeign {
		t.Error("one who has taken part before made others' queues doubtful")
	}
	for _, c := range []struct {
		parted, away time.Duration
		doubted      bool
	}{
		{beginFor / 2, leftFor / 2, true},
		{beginFor, leftFor / 2, false},
		{beginFor, leftFor, true},
	} {
		f.up.doubted = false
		now += c.parted
		step(message.LetGo)
		now += c.away
		step(message.LetGo)
		step(message.Controlling)
		if f.up.doubted != c.doubted {
			t.Errorf("one who takes part again after %s: doubted %v", c.away, f.up.doubted)
		}
	}
}

// TestWhoBeginsToTakePartAndSendsIsMet: what it sent before was taken for somebody else's, or for the wire.
func TestWhoBeginsToTakePartAndSendsIsMet(t *testing.T) {
	peers := func(state message.State, mbps float64) []message.Peer {
		return []message.Peer{{Report: message.Report{Session: 7, State: state, UploadKbps: kbps(mbps * 1e6)}}}
	}
	var terminals participants
	for _, step := range []struct {
		at           time.Duration
		state        message.State
		mbps         float64
		joined, sent bool
	}{
		{0, message.Observing, 50, false, false},
		{1, message.Controlling, 0, true, false},
		{2, message.Controlling, 50, false, true},
		{3, message.Controlling, 60, false, false},
		{4, message.LetGo, 60, false, false},
		{5, message.Controlling, 60, true, false}, // and may have queued more meanwhile
		{12, message.LetGo, 60, false, false},
		{13, message.Controlling, 60, false, false}, // nobody was heard for a second
		{14, message.LetGo, 60, false, false},
		{19, message.LetGo, 60, false, false},
		{20, message.Controlling, 0, true, false},
		{23, message.Controlling, 50, false, false}, // that has begun since
	} {
		joined, sent := terminals.joined(step.at*time.Second, peers(step.state, step.mbps))
		if joined != step.joined || sent != step.sent {
			t.Errorf("after %d s: joined %v, sent before %v", step.at, joined, sent)
		}
	}
	if _, sent := terminals.joined(time.Minute, nil); sent {
		t.Error("nobody was met")
	}
}

// TestWhoStaysHasNotJoinedAgain when what is known of many that are gone is forgotten.
func TestWhoStaysHasNotJoinedAgain(t *testing.T) {
	var terminals participants
	stays := message.Peer{Report: message.Report{Session: 1, State: message.Controlling}}
	terminals.joined(time.Second, []message.Peer{stays})
	for i := range uint64(100) {
		now := 2*time.Second + time.Duration(i)*time.Second
		comes := message.Peer{Report: message.Report{Session: 2 + i, State: message.Controlling}}
		if joined, _ := terminals.joined(now, []message.Peer{stays, comes}); !joined {
			t.Errorf("terminal %d has not joined", i)
		}
		if joined, _ := terminals.joined(now, []message.Peer{stays}); joined {
			t.Errorf("who stays has joined again after %d terminals", i)
		}
		if len(terminals) > 32 {
			t.Fatalf("%d terminals are known of two", len(terminals))
		}
	}
}
