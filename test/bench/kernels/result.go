package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"airtide/internal/vm"
	"airtide/test/bench/benchtext"
)

// result is the result of a guest.
type result struct {
	guest   guest
	release string
	err     error // it could not be tried to the end
	cells   map[string]cell
	notes   []string
	booted  time.Duration
	seconds float64 // processors' time
}

// cell is the result of a row.
type cell struct {
	text   string // content in the table
	failed bool
}

func (r *result) failed() bool {
	if r.err != nil {
		return true
	}
	for _, c := range r.cells {
		if c.failed {
			return true
		}
	}
	return false
}

// summary is one line for the terminal.
func (r *result) summary() string {
	switch {
	case r.err != nil:
		return "failed: " + r.err.Error()
	case r.failed():
		return fmt.Sprintf("failed, after %.0f s of the processors", r.seconds)
	}
	return fmt.Sprintf("done, with %.0f s of the processors", r.seconds)
}

// reason matches the line of an output that names the error.
var reason = regexp.MustCompile(`(?im)^.*(\berror:|\bfatal\b|not found|no such file).*$`)

// note keeps the first line of a text, and of its other lines the first that gives a reason.
func (r *result) note(row, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if first, rest, _ := strings.Cut(text, "\n"); reason.MatchString(rest) {
		text = first + " " + strings.TrimSpace(reason.FindString(rest))
	}
	r.notes = append(r.notes, fmt.Sprintf("%s, %s: %s", r.guest.name(), row, oneLine(text)))
}

// guestLimit bounds the time of a guest. It is longer than all its steps together take.
const guestLimit = 3 * time.Hour

// Rows that are no parts of airtide.
const (
	doctorRow = "doctor says the same"
	logRow    = "the kernel's log is clean"
)

// try boots the guest and tries each row.
func (r *result) try(ctx context.Context, folder string, p programs, rows *regexp.Regexp) error {
	r.cells = map[string]cell{}
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	console, err := os.Create(filepath.Join(folder, "console.log"))
	if err != nil {
		return err
	}
	defer console.Close()
	module, err := r.guest.module(ctx, folder, p.airtide)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: building the module for accelerated time: %v\n", r.guest.name(), err)
		r.note("timewarp", "%v", err)
	}
	g, err := r.guest.boot(ctx, folder, p, module, console)
	if err != nil {
		return err
	}
	defer g.Close()
	// A guest that hangs does not answer when its command is ended.
	ctx, cancel := context.WithTimeoutCause(ctx, guestLimit, fmt.Errorf("the guest has not come to an end within %s",
		guestLimit))
	defer cancel()
	defer context.AfterFunc(ctx, g.Close)()
	defer func() { r.seconds = processorSeconds(g.PID()) }()
	r.release = g.Release
	r.booted = g.Booted
	fmt.Fprintf(os.Stderr, "%s: kernel %s, booted within %s\n", r.guest.name(), g.Release, g.Booted.Round(time.Second))
	if _, err := shell(ctx, g, prepareScript, nil, usualLimit, io.Discard); err != nil {
		return fmt.Errorf("preparing the guest: %w", err)
	}
	kernel, err := follow(ctx, g)
	if err != nil {
		return err
	}
	report, err := examine(ctx, g, folder)
	if err != nil {
		return err
	}
	var complaints []string
	for _, p := range parts {
		if !rows.MatchString(p.name) {
			continue
		}
		c := r.tryPart(ctx, g, log, p)
		r.cells[p.name] = c
		fmt.Fprintf(os.Stderr, "%s: %s: %s\n", r.guest.name(), p.name, c.text)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		said, err := kernel.take(ctx)
		if err != nil {
			return fmt.Errorf("after %s: %w", p.name, err)
		}
		fmt.Fprintf(log, "\n# the kernel's log\n%s", said)
		for _, line := range complaintsIn(said) {
			complaints = append(complaints, p.name+": "+line)
		}
	}
	r.judge(logRow, complaints)
	r.judge(doctorRow, r.disagreements(report))
	return nil
}

// judge writes a row's cell. It fails if there are objections.
func (r *result) judge(row string, against []string) {
	for _, a := range against {
		r.note(row, "%s", a)
	}
	r.cells[row] = cell{text: "ok"}
	if len(against) > 0 {
		r.cells[row] = cell{text: failedText, failed: true}
	}
}

const (
	okText     = "ok"
	failedText = "**FAILED**"
)

// tryPart tries a part if the kernel supports it. Otherwise it tests that the part is refused.
func (r *result) tryPart(ctx context.Context, g *vm.Guest, log *os.File, p part) cell {
	fmt.Fprintf(log, "\n## %s\n", p.name)
	offered := p.since == "" || atLeast(g.Release, p.since)
	steps := p.steps
	text := okText
	if !offered {
		steps = p.refused
		text = "from " + p.since
	}
	for i := range steps {
		skipped, err := steps[i].do(ctx, g, log)
		for _, s := range skipped {
			r.note(p.name, "%s", s)
		}
		if len(skipped) > 0 && text == okText {
			text = "ok, in part"
		}
		if err != nil {
			r.note(p.name, "%v", err)
			return cell{text: failedText, failed: true}
		}
	}
	return cell{text: text}
}

// report holds the compared parts of doctor's report.
type report struct {
	Verbs  []reportedVerb  `json:"verbs"`
	Checks []reportedCheck `json:"checks"`
}

type (
	reportedVerb  struct{ Verb, Verdict, Way string }
	reportedCheck struct{ Name, Status string }
)

// examine asks doctor.
func examine(ctx context.Context, g *vm.Guest, folder string) (r report, err error) {
	said, err := shell(ctx, g, "airtide doctor --json", nil, usualLimit, io.Discard)
	if err != nil {
		return r, fmt.Errorf("airtide doctor: %w: %s", err, benchtext.LastLine(said))
	}
	if err := os.WriteFile(filepath.Join(folder, "doctor.json"), []byte(said), 0o644); err != nil {
		return r, err
	}
	if err := json.Unmarshal([]byte(said), &r); err != nil {
		return r, fmt.Errorf("reading what airtide doctor says: %w", err)
	}
	return r, nil
}

// works reports whether a part works by doctor's verb, its check, or both. known is false if doctor
// reports neither.
func (d *report) works(p part) (works, known bool) {
	works = true
	if p.verb != "" {
		i := slices.IndexFunc(d.Verbs, func(v reportedVerb) bool { return v.Verb == p.verb })
		if i < 0 {
			return false, false
		}
		works = d.Verbs[i].Verdict != "cannot_run" && (p.way == "" || d.Verbs[i].Way == p.way)
	}
	if p.check != "" {
		i := slices.IndexFunc(d.Checks, func(c reportedCheck) bool { return c.Name == p.check })
		if i < 0 {
			return false, false
		}
		works = works && (d.Checks[i].Status == "ok" || d.Checks[i].Status == "limited")
	}
	return works, p.verb != "" || p.check != ""
}

// disagreements lists the rows for which doctor's verdict differs from the observation.
func (r *result) disagreements(d report) (all []string) {
	for _, p := range parts {
		c, tried := r.cells[p.name]
		says, known := d.works(p)
		if !tried || p.verb == "" && p.check == "" {
			continue
		}
		seen := !c.failed && strings.HasPrefix(c.text, okText)
		switch {
		case !known:
			all = append(all, fmt.Sprintf("it says nothing of %s", p.name))
		case says && !seen:
			all = append(all, fmt.Sprintf("it says that %s works, and it does not", p.name))
		case !says && seen:
			all = append(all, fmt.Sprintf("it says that %s does not work, and it does", p.name))
		}
	}
	return all
}
