package message

import (
	"testing"

	"airtide/internal/share/cellkey"
)

// An urgent report is sent at once and again at the regular time. A longer pause follows, so that
// the number of reports is the same.
func TestAnUrgentReportIsSentTwiceWithinAPeriod(t *testing.T) {
	a := newAgent(cellkey.New(), 1, 0)
	now := a.DueNs(0)
	a.send(t, now)
	var sent []int64
	begin := now
	regular := a.DueNs(now)
	period := regular - begin
	now += period / 3
	a.SendEarly()
	if due := a.DueNs(now); due != now {
		t.Fatalf("an urgent report is due %d ms later", (due-now)/ms)
	}
	for len(sent) < 20 {
		a.send(t, now)
		sent = append(sent, now)
		if len(sent) == 1 {
			if a.MaySendEarly() {
				t.Error("another one may go at once")
			}
			if due := a.DueNs(now); due != regular {
				t.Errorf("the next is due %d ms after it would have been", (due-regular)/ms)
			}
		}
		now = a.DueNs(now)
	}
	if !a.MaySendEarly() {
		t.Error("there may be no such report any more")
	}
	if pause := sent[2] - sent[1]; pause < 2*period*8/10 || pause > 2*period*12/10 {
		t.Errorf("a pause of %d ms afterwards, where periods are %d ms", pause/ms, period/ms)
	}
	if mean := (sent[19] - begin) / 20; mean < period*85/100 || mean > period*115/100 {
		t.Errorf("a report every %d ms, where periods are %d ms", mean/ms, period/ms)
	}
	// An urgent report at the regular time causes no longer pause.
	a.SendEarly()
	a.send(t, now)
	if !a.MaySendEarly() {
		t.Error("a report that was due counts as one more")
	}
}
