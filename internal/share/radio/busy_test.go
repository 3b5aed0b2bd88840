package radio

import (
	"errors"
	"testing"
	"time"

	"airtide/internal/kernel/nl80211"
	"airtide/internal/tcp"
)

// surveyOf is an answer of nl80211 about a channel.
func surveyOf(mhz, timeMs, busyMs int64) nl80211.Survey {
	s := nl80211.Survey{Values: tcp.NoRadioValues()}
	s.Values[tcp.RadioFrequencyMHz] = mhz
	s.Values[tcp.RadioChannelMs] = timeMs
	s.Values[tcp.RadioBusyMs] = busyMs
	return s
}

// The busy part is that of the time between two answers on the same channel.
func TestBusyPartOfTheChannel(t *testing.T) {
	var b busyTime
	now := time.Hour
	silent := surveyOf(5180, 9000, tcp.Absent)
	for _, step := range []struct {
		name   string
		survey nl80211.Survey
		known  bool
		err    error
		want   float64
	}{
		{"the first answer", surveyOf(5180, 1000, 100), true, nil, 0},
		{"a second later", surveyOf(5180, 2000, 850), true, nil, 0.75},
		{"another channel", surveyOf(2412, 5000, 300), true, nil, 0},
		{"a second on it", surveyOf(2412, 6000, 800), true, nil, 0.5},
		{"counters that were set back", surveyOf(2412, 10, 9), true, nil, 0},
		{"after that", surveyOf(2412, 1010, 209), true, nil, 0.2},
		{"no answer", nl80211.Survey{}, false, nil, 0},
		{"again an answer", surveyOf(2412, 2010, 209), true, nil, 0},
		{"an error", nl80211.Survey{}, false, errors.New("gone"), 0},
		{"a driver without busy time", silent, true, nil, 0},
	} {
		survey := func() (nl80211.Survey, bool, error) { return step.survey, step.known, step.err }
		if got := b.ask(now, survey); got != step.want {
			t.Errorf("%s: got %g, want %g", step.name, got, step.want)
		}
		now += surveyEvery
	}
}

// The driver is asked once a second, though rates are read more often.
func TestTheChannelIsAskedOnceASecond(t *testing.T) {
	var b busyTime
	asked := 0
	for at := time.Duration(0); at < 3*time.Second; at += askEvery {
		b.ask(time.Hour+at, func() (nl80211.Survey, bool, error) {
			asked++
			return surveyOf(5180, int64(1000*asked), int64(400*asked)), true, nil
		})
	}
	if asked != 3 || b.part != 0.4 {
		t.Errorf("asked %d times, busy part %g", asked, b.part)
	}
}
