package machine

import (
	"io"
	"os"
	"strings"
)

// tailBytes and tailLines bound what of a tool's output goes into a message.
const (
	tailBytes = 600
	tailLines = 4
)

// Tail is the end of what a tool has written to a file, in one line, for a message; empty where there is nothing.
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
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-tailLines):], "; ")
}
