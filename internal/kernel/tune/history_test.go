package tune

import (
	"strings"
	"testing"
)

func TestClosedSocketsKeepTheirLastState(t *testing.T) {
	socket := func(cookie uint64, ok bool) Socket { return Socket{Cookie: cookie, Values: []Value{{OK: ok}}} }
	var h history
	h.add(&Report{Sockets: []Socket{socket(1, true), socket(2, true), socket(3, false)}})
	h.add(&Report{Sockets: []Socket{socket(2, false), socket(3, true), socket(4, true)}})
	end := &Report{Sockets: []Socket{socket(4, true)}, Counts: Counts{Matched: 5, New: 5, Changed: 1, Gone: 4}}
	h.complete(end)
	if c := end.Counts; c.GoneChanged != 2 || c.GoneFailed != 1 || c.Changed != 1 {
		t.Errorf("counted %+v", c)
	}
	var text strings.Builder
	if err := end.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	const want = "5 sockets matched, 5 of them new: 1 changed and read back, 0 failed, 4 gone " +
		"(2 changed before they closed, 1 failed, 1 closed before it was read back)\n"
	if !strings.Contains(text.String(), want) {
		t.Errorf("it says\n%swant\n%s", text.String(), want)
	}
}

func TestNothingRemembered(t *testing.T) {
	var h history
	r := &Report{Counts: Counts{Matched: 1, Gone: 1}}
	h.complete(r)
	var text strings.Builder
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "0 failed, 1 gone\n") {
		t.Errorf("%v, it says\n%s", err, text.String())
	}
}
