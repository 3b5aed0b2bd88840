package timewarp

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"airtide/internal/sys/file"
)

// Reading is the module's reading of both clocks at one moment: the scheduler's clock, which stays
// real, and CLOCK_MONOTONIC.
type Reading struct {
	RealNs   int64 `json:"real_ns"`
	WarpedNs int64 `json:"warped_ns"`
}

// Since is the progress of both clocks since an earlier reading.
func (r Reading) Since(earlier Reading) (real, warped time.Duration) {
	return time.Duration(r.RealNs - earlier.RealNs), time.Duration(r.WarpedNs - earlier.WarpedNs)
}

// Now reads both clocks. The module must be loaded.
func (k *Kernel) Now() (Reading, error) {
	var r Reading
	text, err := file.Line(k.parameter("now"))
	if err == nil {
		_, err = fmt.Sscanf(text, "%d %d", &r.RealNs, &r.WarpedNs)
	}
	if err != nil {
		return r, fmt.Errorf("reading the clocks of the module: %w", err)
	}
	return r, nil
}

// Ratio is N now. The module must be loaded.
func (k *Kernel) Ratio() (Ratio, error) {
	text, err := file.Line(k.parameter("ratio"))
	if err != nil {
		return Ratio{}, fmt.Errorf("reading the ratio: %w", err)
	}
	r, err := ParseRatio(text)
	if err != nil {
		return r, fmt.Errorf("the module says %w: it is of another version of airtide", err)
	}
	return r, nil
}

// Status is the present state of the module, the clock and TCP.
type Status struct {
	Loaded      bool   `json:"loaded"`
	Selected    bool   `json:"selected"` // timewarp is the clock source
	Ratio       Ratio  `json:"ratio"`
	RTO         RTO    `json:"rto,omitempty"` // how TCP's retransmission timeout follows N; "" while not loaded
	ScaledCubic bool   `json:"scaled_cubic"`  // new connections of a namespace grow by real time
	ClockSource string `json:"clock_source"`
	Before      string `json:"clock_source_before,omitempty"` // "" unless airtide selected timewarp
	// RealNs and the next field are the durations since the last change of N, by both clocks. They
	// are 0 if airtide did not set N.
	RealNs   int64 `json:"real_ns_at_ratio"`
	WarpedNs int64 `json:"warped_ns_at_ratio"`
	// AheadNs is how much CLOCK_MONOTONIC and the date went ahead of real time since airtide
	// selected timewarp.
	AheadNs int64 `json:"ahead_ns"`
	// Stays means that N is 1 because another clock source was selected, while the settings for an
	// earlier N are still in force.
	Stays bool `json:"settings_of_an_earlier_ratio"`
	// Running is whether a command runs in warped time, Left whether a killed process left it like
	// this.
	Running bool `json:"running"`
	Left    bool `json:"left_by_killed_process"`
}

// Status reads the present state. It returns an error if the kernel has no modules.
func (k *Kernel) Status() (*Status, error) {
	s := &Status{Ratio: One, Loaded: k.Loaded()}
	if err := k.Support(); errors.Is(err, ErrNoModules) {
		return nil, err
	}
	var err error
	s.ClockSource, err = k.CurrentClockSource()
	if err != nil {
		return nil, err
	}
	s.Selected = s.ClockSource == moduleName
	st, err := k.readState()
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	if st != nil {
		s.Before = st.Before
		s.ScaledCubic = st.Cubic != nil
		s.Stays = !s.Selected && k.scaled(st)
		if st.Temporary {
			s.Running = k.busy()
			s.Left = !s.Running
		}
	}
	if !s.Loaded {
		return s, nil
	}
	s.Ratio, err = k.Ratio()
	if err != nil {
		return nil, err
	}
	s.RTO, err = k.RTO()
	if err != nil {
		return nil, err
	}
	if st == nil {
		return s, nil
	}
	now, err := k.Now()
	if err != nil {
		return nil, err
	}
	real, warped := now.Since(st.RatioSet)
	s.AheadNs = int64(st.ahead(now))
	s.RealNs = int64(real)
	s.WarpedNs = int64(warped)
	return s, nil
}

// scaled reports whether a setting outside of the module still follows N.
func (k *Kernel) scaled(st *state) bool {
	if st.Cubic != nil || st.Bursts != nil {
		return true
	}
	for path, real := range st.Watchdogs {
		if now, err := file.Number(path); err == nil && now != real {
			return true
		}
	}
	return false
}

// WriteText prints the status for people.
func (s *Status) WriteText(w io.Writer) error {
	ms := func(ns int64) time.Duration { return time.Duration(ns).Round(time.Millisecond) }
	var text string
	switch {
	case !s.Loaded:
		text = fmt.Sprintf("not loaded; the clock source is %s\n", s.ClockSource)
	case !s.Selected:
		text = fmt.Sprintf("loaded, but the clock source is %s: time is real\n", s.ClockSource)
		if s.Stays {
			text += "what was set for an earlier ratio, of TCP and of watchdogs, stays until: airtide timewarp unload\n"
		}
	default:
		text = fmt.Sprintf("ratio %s, rto %s\n", s.Ratio, s.RTO)
		if s.ScaledCubic {
			text += "new connections use " + cubicName + ", which grows by real time\n"
		}
		if s.Before != "" {
			text += fmt.Sprintf(
				"since %s of real time, %s of the clock\nahead of real time by %s since it was loaded\nclock "+
					"source %s, before %s\n",
				ms(s.RealNs), ms(s.WarpedNs), ms(s.AheadNs), s.ClockSource, s.Before)
		}
	}
	if s.Running {
		text += "a command runs in warped time\n"
	}
	if s.Left {
		text += "a killed process left it like this: airtide timewarp unload takes it back\n"
	}
	_, err := io.WriteString(w, text)
	return err
}
