package machine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

// Output writes the output of a program to a file and keeps the last line in memory.
type Output struct {
	// Watch gets each whole line, if it is not nil.
	Watch func(line string)

	mu      sync.Mutex
	file    *os.File
	partial []byte // a line that has not ended
	last    []byte
	err     error // writing the file
}

// CreateOutput creates the file for a program's output. With an empty path the output has no file.
func CreateOutput(path string) (*Output, error) {
	if path == "" {
		return &Output{}, nil
	}
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("making a file for the output of a program: %w", err)
	}
	return &Output{file: f}, nil
}

// Write never fails, so a full disk does not end the program. Close returns the file's error.
func (o *Output) Write(text []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file != nil && o.err == nil {
		_, o.err = o.file.Write(text)
	}
	for rest := text; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte{'\n'})
		o.partial = append(o.partial, line...)
		rest = after
		if !whole {
			break
		}
		o.last = append(o.last[:0], o.partial...)
		o.partial = o.partial[:0]
		if o.Watch != nil {
			o.Watch(string(o.last))
		}
	}
	return len(text), nil
}

// LastLine returns the last whole line; empty if there is none.
func (o *Output) LastLine() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.last)
}

// lastWords returns the last line of an ended program, even if it has no newline.
func (o *Output) lastWords() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if text := strings.TrimSpace(string(o.partial)); text != "" {
		return text
	}
	return strings.TrimSpace(string(o.last))
}

// Close closes the file. It returns the first error of all writes, for example of a full disk.
func (o *Output) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.file == nil {
		return o.err
	}
	err := errors.Join(o.err, o.file.Close())
	o.file = nil
	o.err = nil
	return err
}

// tailBytes and tailLines limit the part of a tool's output in a message.
const (
	tailBytes = 600
	tailLines = 4
)

// Tail returns the end of a tool's output file in one line, for a message; empty if there is no
// output.
func Tail(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	size, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return ""
	}
	from := max(0, size-tailBytes)
	b := make([]byte, size-from)
	if _, err := f.ReadAt(b, from); err != nil && err != io.EOF {
		return ""
	}
	if from > 0 { // begins in the middle of a line
		if _, rest, ok := strings.Cut(string(b), "\n"); ok {
			b = []byte(rest)
		}
	}
	var lines []string
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-tailLines):], "; ")
}
