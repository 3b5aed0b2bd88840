package run

import (
	"sync"
	"time"

	"airtide/internal/lab/plan"
)

// progress tells how far one run is, until it is ended.
type progress struct {
	lab           *lab
	run           plan.Run
	rest          []plan.Run // the run and those after it
	number, total int

	mutex   sync.Mutex
	attempt int
	stage   string
	zero    time.Time
	began   time.Time
}

func (p *progress) begin(attempt int) {
	p.mutex.Lock()
	p.attempt, p.zero, p.began = attempt, time.Time{}, time.Now()
	p.mutex.Unlock()
	p.at("setting up")
}

// at says what is being done from now on.
func (p *progress) at(stage string) {
	p.mutex.Lock()
	p.stage = stage
	p.mutex.Unlock()
	p.tell()
}

// sending says that the run's time zero is now.
func (p *progress) sending(zero time.Time) {
	p.mutex.Lock()
	p.zero = zero
	p.mutex.Unlock()
	p.at("running")
}

func (p *progress) tell() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	estimate, finished := p.lab.left(p.rest)
	left := estimate - time.Since(p.began)
	at := Progress{
		Run: p.run.ID, Number: p.number, Total: p.total, Finished: finished, Attempt: p.attempt, Stage: p.stage,
		Elapsed: -1, Left: max(left, 0),
	}
	if !p.zero.IsZero() {
		at.Elapsed = time.Since(p.zero)
	}
	p.lab.Progress(at)
}

// every tells it again and again, until stop is called.
func (p *progress) every(d time.Duration) (stop func()) {
	ended, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		t := time.NewTicker(d)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				p.tell()
			case <-ended:
				return
			}
		}
	}()
	return func() { close(ended); <-over }
}
