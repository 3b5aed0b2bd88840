package units

import (
	"strings"
	"unicode"
)

// Printable replaces every character of s that a terminal could obey by "?". Texts from outside
// pass through it before they are printed: a process may name itself with an escape sequence.
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

// Cell protects a text cell of a CSV file: a spreadsheet runs a cell that begins with "=", "+",
// "-" or "@" as a formula. Cell puts an apostrophe before it. A name such as "-bash" stays.
func Cell(s string) string {
	if s == "" || !strings.ContainsRune("=+-@\t\r", rune(s[0])) {
		return s
	}
	if s[0] == '-' && !strings.ContainsFunc(s[1:], func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '_' && r != '.'
	}) {
		return s
	}
	return "'" + s
}
