package units

import (
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Printable cleans a text of one line, such as the name of a process: every character that a
// terminal could obey becomes "?". These are control characters, ends of lines among them, marks
// that change the direction of writing, and bytes that are not UTF-8. Texts from outside pass
// through it before they are joined with others, so that none of them forges a line.
func Printable(s string) string {
	if !strings.ContainsFunc(s, unprintable) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if unprintable(r) {
			return '?'
		}
		return r
	}, s)
}

func unprintable(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }

// PrintableText cleans a whole text like Printable, but keeps its ends of lines. If colour is set,
// it also keeps sequences that set a colour: ESC [ numbers m.
func PrintableText(s string, colour bool) string {
	var b strings.Builder
	b.Grow(len(s))
	for len(s) > 0 {
		end := strings.IndexAny(s, "\n\x1b")
		if end < 0 {
			end = len(s)
		}
		b.WriteString(Printable(s[:end]))
		s = s[end:]
		if s == "" {
			break
		}
		length := 1
		if s[0] == '\x1b' {
			length = colourSequence(s)
			if !colour || length == 0 {
				b.WriteByte('?')
				s = s[1:]
				continue
			}
		}
		b.WriteString(s[:length])
		s = s[length:]
	}
	return b.String()
}

// colourSequence returns the length of the colour sequence that s starts with, or 0.
func colourSequence(s string) int {
	body, ok := strings.CutPrefix(s, "\x1b[")
	if !ok {
		return 0
	}
	rest := strings.TrimLeft(body, "0123456789;")
	if !strings.HasPrefix(rest, "m") {
		return 0
	}
	return len(s) - len(rest) + 1
}

// TextWriter cleans a text on its way to a terminal or a file, as PrintableText does. It also keeps
// tabs. It is the last guard of every text output. It cannot tell a forged line from another one,
// so single texts pass through Printable before.
// Several goroutines may write.
type TextWriter struct {
	mu     sync.Mutex
	out    io.Writer
	colour bool
	rest   []byte // the beginning of a character or of a colour sequence
	clean  []byte
}

// NewTextWriter returns a writer that cleans texts. With colour, sequences that set a colour stay.
func NewTextWriter(out io.Writer, colour bool) *TextWriter {
	return &TextWriter{out: out, colour: colour}
}

// longestColour is the length in bytes of the longest colour sequence that may be split between two
// writes.
const longestColour = 64

// Write cleans a part of a text. The part may end within a character.
func (w *TextWriter) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rest) == 0 && plain(text) {
		return w.out.Write(text)
	}
	all := append(w.rest, text...)
	w.clean = w.clean[:0]
	for len(all) > 0 {
		r, n := utf8.DecodeRune(all)
		switch {
		case r == '\n' || r == '\t':
		case r == '\x1b' && w.colour:
			if length := colourSequence(string(all[:min(len(all), longestColour)])); length > 0 {
				n = length
			} else if len(all) < longestColour && unfinishedColour(all) {
				return w.write(text, all)
			} else {
				r = utf8.RuneError
			}
		case r == utf8.RuneError && !utf8.FullRune(all):
			return w.write(text, all)
		}
		if unprintable(r) && r != '\n' && r != '\t' && r != '\x1b' || r == '\x1b' && !w.colour {
			w.clean = append(w.clean, '?')
		} else {
			w.clean = append(w.clean, all[:n]...)
		}
		all = all[n:]
	}
	return w.write(text, nil)
}

// write writes the clean part and keeps the rest for the next call.
func (w *TextWriter) write(text, rest []byte) (int, error) {
	w.rest = append([]byte(nil), rest...)
	if _, err := w.out.Write(w.clean); err != nil {
		return 0, err
	}
	return len(text), nil
}

// plain reports whether a text has only printable ASCII, ends of lines and tabs, as most do.
func plain(text []byte) bool {
	for _, c := range text {
		if (c < ' ' || c > '~') && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// unfinishedColour reports whether a text is the beginning of a colour sequence and nothing else.
func unfinishedColour(text []byte) bool {
	return strings.TrimLeft(strings.TrimPrefix(strings.TrimPrefix(string(text), "\x1b"), "["), "0123456789;") == ""
}

// Cell cleans a text cell of a CSV file as Printable does, and protects it: a spreadsheet runs a
// cell that begins with "=", "+", "-" or "@" as a formula. Cell puts an apostrophe before it. A
// number and a name such as "-bash" stay.
func Cell(s string) string {
	s = Printable(s)
	if s == "" || !strings.ContainsRune("=+-@", rune(s[0])) {
		return s
	}
	if _, err := strconv.ParseFloat(s, 64); err == nil {
		return s
	}
	if s[0] == '-' && !strings.ContainsFunc(s[1:], func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_' && r != '.'
	}) {
		return s
	}
	return "'" + s
}
