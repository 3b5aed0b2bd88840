package terminal

import (
	"bufio"
	"io"

	"airtide/internal/units"
)

// indenter indents encoded JSON as json.Indent does, without a copy of the whole. It escapes the
// characters that a terminal could obey.
type indenter struct{ out io.Writer }

func (i indenter) Write(text []byte) (int, error) {
	w := bufio.NewWriterSize(i.out, 1<<16)
	depth, start := 0, 0
	line := func() {
		w.WriteByte('\n')
		for range depth {
			w.WriteString("  ")
		}
	}
	for at := 0; at < len(text); at++ {
		switch c := text[at]; c {
		case '"':
			for start = at; ; {
				at++
				if text[at] == '\\' {
					at++
				} else if text[at] == '"' {
					break
				}
			}
			w.Write(units.EscapeJSON(text[start : at+1]))
		case '{', '[':
			w.WriteByte(c)
			if next := text[at+1]; next == '}' || next == ']' {
				at++
				w.WriteByte(next)
				continue
			}
			depth++
			line()
		case '}', ']':
			depth--
			line()
			w.WriteByte(c)
		case ',':
			w.WriteByte(c)
			line()
		case ':':
			w.WriteString(": ")
		default:
			w.WriteByte(c)
		}
	}
	return len(text), w.Flush()
}
