package cellkey

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"airtide/internal/sys/file"
)

// Pair holds the keys of a cell. During a rotation the old one counts beside the new one.
type Pair struct {
	New Key
	Old Key // zero outside a rotation
}

// Keys returns the keys that are set, the new one first.
func (p Pair) Keys() (all []Key) {
	for _, k := range []Key{p.New, p.Old} {
		if !k.Zero() {
			all = append(all, k)
		}
	}
	return all
}

// Text returns the content of a key file: a key on each line.
func (p Pair) Text() string {
	var b strings.Builder
	for _, k := range p.Keys() {
		b.WriteString(k.Text() + "\n")
	}
	return b.String()
}

// parsePair decodes the content of a key file.
func parsePair(text string) (p Pair, err error) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > 2 {
		const want = "want a key, and during a rotation the old key on a second line"
		return p, fmt.Errorf("it has %d lines: %s", len(lines), want)
	}
	p.New, err = Parse(lines[0])
	if err != nil || len(lines) == 1 {
		return p, err
	}
	p.Old, err = Parse(lines[1])
	if err != nil {
		return p, fmt.Errorf("line 2: %w", err)
	}
	if p.Old == p.New {
		return p, errors.New("both of its keys are the same")
	}
	return p, nil
}

// Rotate puts a new key before the key of a file.
func Rotate(path string) (Pair, error) {
	return rewrite(path, func(p Pair) (Pair, error) {
		if !p.Old.Zero() {
			return p, errors.New("it has two keys: end its rotation by --retire first")
		}
		return Pair{New: New(), Old: p.New}, nil
	})
}

// Retire removes the old key from a file.
func Retire(path string) (Pair, error) {
	return rewrite(path, func(p Pair) (Pair, error) {
		if p.Old.Zero() {
			return p, errors.New("it has one key: --rotate adds a new one")
		}
		return Pair{New: p.New}, nil
	})
}

// rewrite replaces a key file by another that only its owner can read.
func rewrite(path string, change func(Pair) (Pair, error)) (Pair, error) {
	p, err := Read(path)
	if err != nil {
		return p, err
	}
	p, err = change(p)
	if err == nil {
		err = file.Write(path, []byte(p.Text()), 0o600)
	}
	if err != nil {
		return p, fmt.Errorf("changing the cell key in %s: %w", path, err)
	}
	return p, nil
}

// Follow returns a function that returns the keys of a file, which it reads again when the file has
// changed, at most once a second. While the file cannot be read, the last keys count, and report
// gets the error once. p are the keys that have been read.
func Follow(path string, p Pair, report func(string)) func() Pair {
	var next time.Time
	before, _ := os.Stat(path)
	said := ""
	return func() Pair {
		if time.Now().Before(next) {
			return p
		}
		next = time.Now().Add(time.Second)
		now, err := os.Stat(path)
		if err == nil && before != nil && os.SameFile(now, before) && now.ModTime().Equal(before.ModTime()) {
			return p
		}
		read, err := Read(path)
		if err != nil {
			if said != err.Error() {
				said = err.Error()
				report(said)
			}
			return p
		}
		before = now
		said = ""
		p = read
		return p
	}
}
