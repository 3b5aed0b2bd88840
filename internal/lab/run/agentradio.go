package run

import (
	"fmt"
	"path/filepath"
	"time"

	"airtide/internal/cell"
	"airtide/internal/lab/plan"
	"airtide/internal/share/radio"
)

// radioFile is the file with the state of a terminal's radio. Its agent reads the file instead of
// nl80211.
type radioFile struct {
	path string
	told radio.RateFile
}

func (f *radioFile) write() error { return f.told.Write(f.path) }

// tellRadio writes the file of a terminal's radio, and plans its changes. It returns the path, or
// "" if the agent knows nothing of the radio.
func (a *agents) tellRadio(t plan.TerminalSetup) (path string, err error) {
	if !t.Share.KnowsPHY && !t.Share.KnowsBusy {
		return "", nil
	}
	f := &radioFile{path: filepath.Join(a.dir, "phy-"+t.Name+".json")}
	for i, step := range t.Radio.PHY {
		told := radio.RateFile{Standard: step.PHY.Standard.String(), Streams: step.PHY.Streams}
		if t.Share.KnowsPHY {
			told.PHYRateBps = float64(step.PHY.RateBps)
		}
		if i == 0 {
			f.told = told
			if err := f.write(); err != nil {
				return "", err
			}
			continue
		}
		a.at(step.At, func() error {
			told.Busy = f.told.Busy
			f.told = told
			return f.write()
		})
	}
	if t.Share.KnowsBusy {
		a.channel.files = append(a.channel.files, f)
	}
	return f.path, nil
}

// surveyEvery is the time between two looks at the channel, that of real radios.
const surveyEvery = time.Second

// channel is the channel of some radios. The zero value is ready.
type channel struct {
	files          []*radioFile
	timeNs, busyNs int64 // of the last look
}

// planSurveys plans the looks at the channel, if any agent knows how busy it is.
func (a *agents) planSurveys() {
	if len(a.channel.files) == 0 {
		return
	}
	for at := surveyEvery; at < time.Duration(a.setup.Duration); at += surveyEvery {
		a.at(plan.Duration(at), func() error {
			status, err := a.cell.cell.Status()
			if err != nil {
				return fmt.Errorf("reading how busy the channel is: %w", err)
			}
			return a.channel.tell(status)
		})
	}
}

// tell writes the busy part of the time since the last look into the files.
func (c *channel) tell(s *cell.Status) error {
	part := 0.0
	if grown := s.TimeNs - c.timeNs; grown > 0 {
		part = min(float64(s.BusyNs-c.busyNs)/float64(grown), 1)
	}
	c.timeNs = s.TimeNs
	c.busyNs = s.BusyNs
	for _, f := range c.files {
		f.told.Busy = part
		if err := f.write(); err != nil {
			return err
		}
	}
	return nil
}
