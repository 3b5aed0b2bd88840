package screen

import (
	"errors"
	"testing"
)

// switched is a recorder without a file.
type switched struct {
	path string
	on   bool
	err  error
}

func (s *switched) Toggle()                      { s.on, s.path = !s.on, "here/airtide-20260301-120005.atr" }
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
