package control

import (
	"testing"
	"time"

	"airtide/internal/share/flow"
	"airtide/internal/share/message"
)

// TestWhoBeginsToTakePartIsDoubtedNoLongerThanAProbe: its queue was a foreign one until then.
func TestWhoBeginsToTakePartIsDoubtedNoLongerThanAProbe(t *testing.T) {
	now := time.Minute
	f := &flow.Flow{ID: 1, MSS: 1448, Send: flow.Direction{BaseRTT: 2 * time.Millisecond}}
	c := New(Config{Session: 1})
	c.flows.Add(f)
	p := c.baseRTT.path(flow.Key{ID: 1})
	p.foreign = true
	c.baseRTT.interval = probeInterval{at: now, every: rttProbeForeign}
	step := func(state message.State) {
		peer := message.Peer{Report: message.Report{Session: 7, State: state}, HeardNs: int64(now)}
		c.measure(now, Inputs{Peers: []message.Peer{peer}})
	}
	step(message.Observing)
	if p.missed || c.baseRTT.interval.every != rttProbeForeign {
		t.Errorf("an observer made foreign queues doubtful, with a probe after %s", c.baseRTT.interval.every)
	}
	step(message.Controlling)
	if !p.missed || c.baseRTT.interval.every != 0 {
		t.Errorf("with a new participant: missed %v, with a probe after %s", p.missed, c.baseRTT.interval.every)
	}
	p.probeMeans = []time.Duration{3 * time.Millisecond}
	if p.conclude(&f.Send, 0) || p.foreign {
		t.Error("one probe without foreign queues left them standing")
	}
	p.foreign = true
	c.baseRTT.interval.every = rttProbeForeign
	step(message.Controlling)
	if p.missed || c.baseRTT.interval.every != rttProbeForeign {
		t.Error("an old participant made foreign queues doubtful")
	}
	for _, one := range []struct {
		parted, away time.Duration
		missed       bool
	}{
		{joinTime / 2, leaveTime / 2, true},
		{joinTime, leaveTime / 2, false},
		{joinTime, leaveTime, true},
	} {
		p.missed = false
		now += one.parted
		step(message.Released)
		now += one.away
		step(message.Released)
		step(message.Controlling)
		if p.missed != one.missed {
			t.Errorf("a participant that returns after %s: missed %v", one.away, p.missed)
		}
	}
}

// TestWhoBeginsToTakePartAndSendsIsMet: what it sent before was taken for somebody else's, or for
// the wire.
func TestWhoBeginsToTakePartAndSendsIsMet(t *testing.T) {
	peers := func(state message.State, mbps float64) []message.Peer {
		return []message.Peer{{Report: message.Report{Session: 7, State: state, UploadKbps: kbps(mbps * 1e6)}}}
	}
	var terminals membership
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
		{4, message.Released, 60, false, false},
		{5, message.Controlling, 60, true, false}, // may have queued more meanwhile
		{12, message.Released, 60, false, false},
		{13, message.Controlling, 60, false, false}, // nobody was heard for a second
		{14, message.Released, 60, false, false},
		{19, message.Released, 60, false, false},
		{20, message.Controlling, 0, true, false},
		{23, message.Controlling, 50, false, false}, // it has begun since
	} {
		joined, sent := terminals.update(step.at*time.Second, peers(step.state, step.mbps))
		if joined != step.joined || sent != step.sent {
			t.Errorf("after %d s: joined %v, sent before %v", step.at, joined, sent)
		}
	}
	if _, sent := terminals.update(time.Minute, nil); sent {
		t.Error("nobody was met")
	}
}

// TestWhoStaysHasNotJoinedAgain when what is known of many that are gone is forgotten.
func TestWhoStaysHasNotJoinedAgain(t *testing.T) {
	var terminals membership
	stays := message.Peer{Report: message.Report{Session: 1, State: message.Controlling}}
	terminals.update(time.Second, []message.Peer{stays})
	for i := range uint64(100) {
		now := 2*time.Second + time.Duration(i)*time.Second
		comes := message.Peer{Report: message.Report{Session: 2 + i, State: message.Controlling}}
		if joined, _ := terminals.update(now, []message.Peer{stays, comes}); !joined {
			t.Errorf("terminal %d has not joined", i)
		}
		if joined, _ := terminals.update(now, []message.Peer{stays}); joined {
			t.Errorf("who stays has joined again after %d terminals", i)
		}
		if len(terminals) > 32 {
			t.Fatalf("%d terminals are known of two", len(terminals))
		}
	}
}
