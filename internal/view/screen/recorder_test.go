package screen

import (
	"errors"
	"testing"

	"airtide/internal/tcp"
)

// switched is a recorder without a file.
type switched struct {
	path string
	on   bool
	err  error

	label  string
	choose func(*tcp.Flow) bool
}

func (s *switched) Toggle(label string, choose func(*tcp.Flow) bool) {
	s.on = !s.on
	s.path = "here/airtide-20260301-120005.atr"
	s.label = label
	s.choose = choose
}
func (s *switched) State() (string, bool, error) { return s.path, s.on, s.err }

func TestRStartsAndEndsARecordingAndItsNameIsShown(t *testing.T) {
	u := newUser(t, filled(t), 80, 24)
	u.expectSight("without a recorder", "r record", false)
	var s switched
	u.m.o.Recorder = &s
	u.expectSight("the table's keys", "r record", true)
	u.expectSight("the table's keys", "q quit", true)
	u.press("r")
	u.expectSight("recording", "REC airtide-20260301-120005.atr", true)
	u.press("enter")
	u.expectSight("recording, in the detail", "REC airtide-20260301-120005.atr", true)
	u.expectSight("the detail's keys", "r record", true)
	u.expectSight("the detail's keys", "? help", true)
	u.press("r")
	u.expectSight("ended", "saved airtide-20260301-120005.atr", true)
	s.err = errors.New("no space left on device")
	u.expectSight("failed", "NOT RECORDED", true)
	u.expectSight("failed", "no space left on device", true)
	s.err = nil
	u.press("esc", "/", "r")
	if s.on {
		t.Error("r in the filter starts a recording")
	}
}

func TestTheFilterNarrowsTheRecording(t *testing.T) {
	u := newUser(t, filled(t), 80, 24)
	var s switched
	u.m.o.Recorder = &s
	u.press("r")
	if s.choose != nil || s.label != "" {
		t.Errorf("without a filter, label %q, and flows are chosen", s.label)
	}
	u.press("r", "/", "SSHD est", "enter", "r")
	if s.label != "filter: sshd est" || s.choose == nil {
		t.Fatalf("label %q, chosen %t", s.label, s.choose != nil)
	}
	shown := 0
	for _, r := range u.m.all {
		want := r.Comm == "sshd"
		if want {
			shown++
		}
		if got := s.choose(&tcp.Flow{ID: r.Flow}); got != want {
			t.Errorf("flow %d of %s is recorded: %t", r.Flow, r.Comm, got)
		}
	}
	if shown == 0 {
		t.Error("no flow is shown")
	}
	u.press("r", "/", "backspace", "backspace", "backspace", "backspace", "enter", "r")
	for comm, want := range map[string]bool{"sshd": true, "curl": false} {
		if got := s.choose(&tcp.Flow{ID: 99, Comm: comm, PID: 1}); got != want {
			t.Errorf("a new flow of %s is recorded: %t", comm, got)
		}
	}
}
