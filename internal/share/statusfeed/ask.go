package statusfeed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Failure is an agent that is there and gave no answer.
type Failure struct {
	Agent string
	Err   error
}

func (f *Failure) Error() string { return fmt.Sprintf("agent %s: %v", f.Agent, f.Err) }

func (f *Failure) Unwrap() error { return f.Err }

// ErrNone is when no agent runs here.
var ErrNone = errors.New("no agent runs here; airtide share run --key FILE starts one")

// longest is the greatest size of an answer, in bytes. The answer of an agent with a thousand peers
// has about 200 kB.
const longest = 16 << 20

// Ask asks all agents on this machine, in all network namespaces, in the order of their names.
// Agents without an answer are returned as failures. Without any agent the error is ErrNone.
func Ask(ctx context.Context) ([]*Report, []*Failure, error) {
	agents, err := agents(ctx)
	if err != nil {
		return nil, nil, fmt.Errorf("looking for agents: %w", err)
	}
	defer closeAll(agents)
	if len(agents) == 0 {
		return nil, nil, ErrNone
	}
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	reports := make([]*Report, len(agents))
	errs := make([]error, len(agents))
	var all sync.WaitGroup
	for i, f := range agents {
		all.Go(func() { reports[i], errs[i] = f.answer(ctx) })
	}
	all.Wait()
	var answers []*Report
	var failures []*Failure
	for i, r := range reports {
		if errs[i] == nil {
			answers = append(answers, r)
		} else {
			failures = append(failures, &Failure{agents[i].name, errs[i]})
		}
	}
	return answers, failures, nil
}

func agents(ctx context.Context) ([]found, error) {
	unlock, err := lock(ctx)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil // nor a folder
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("%w: ask as root", err)
	case err != nil:
		return nil, err
	}
	defer unlock()
	return find()
}

// answer reads the status of an agent.
func (f found) answer(ctx context.Context) (*Report, error) {
	switch {
	case errors.Is(f.err, unix.EAGAIN): // too many wait for it already
		return nil, errSilent
	case f.err != nil:
		return nil, f.err
	}
	stop := context.AfterFunc(ctx, func() { _ = f.conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	text, err := io.ReadAll(io.LimitReader(f.conn, longest+1))
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded), err == nil && len(text) == 0:
		return nil, errSilent
	case err != nil:
		return nil, fmt.Errorf("reading its answer: %w", err)
	case len(text) > longest:
		return nil, fmt.Errorf("its answer has more than %d bytes", longest)
	}
	r := &Report{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("its answer is no status: %w", err)
	}
	if r.Agent != f.name || r.Time.IsZero() {
		return nil, errors.New("its answer is no status: it does not say whose, and of when")
	}
	return r, nil
}

var errSilent = errors.New("it does not answer within a second: it is ending, or stands still")
