package terminal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"iter"

	"airtide/internal/units"
)

// indenter indents encoded JSON as json.Indent does, without a copy of the whole. It escapes the
// characters that a terminal could obey.
type indenter struct {
	out *bufio.Writer
	// The member of the outermost object with this name, in quotes, is an empty list. It is filled
	// with these elements.
	list     string
	elements iter.Seq[any]
}

// Write takes one encoded value.
func (i *indenter) Write(text []byte) (int, error) {
	if err := i.print(text, 0); err != nil {
		return 0, err
	}
	return len(text), i.out.Flush()
}

func (i *indenter) line(depth int) {
	i.out.WriteByte('\n')
	for range depth {
		i.out.WriteString("  ")
	}
}

// print indents a value that begins at a depth.
func (i *indenter) print(text []byte, depth int) error {
	w := i.out
	for at := 0; at < len(text); at++ {
		switch c := text[at]; c {
		case '"':
			start := at
			for {
				at++
				if text[at] == '\\' {
					at++
				} else if text[at] == '"' {
					break
				}
			}
			w.Write(units.EscapeJSON(text[start : at+1]))
			if depth == 1 && string(text[start:at+1]) == i.list && bytes.HasPrefix(text[at+1:], []byte(":[]")) {
				at += len(":[]")
				if err := i.fill(); err != nil {
					return err
				}
			}
		case '{', '[':
			w.WriteByte(c)
			if next := text[at+1]; next == '}' || next == ']' {
				at++
				w.WriteByte(next)
				continue
			}
			depth++
			i.line(depth)
		case '}', ']':
			depth--
			i.line(depth)
			w.WriteByte(c)
		case ',':
			w.WriteByte(c)
			i.line(depth)
		case ':':
			w.WriteString(": ")
		default:
			w.WriteByte(c)
		}
	}
	return nil
}

// fill prints the elements of the list.
func (i *indenter) fill() error {
	i.out.WriteString(": [")
	before := ""
	for element := range i.elements {
		text, err := json.Marshal(element)
		if err != nil {
			return err
		}
		i.out.WriteString(before)
		before = ","
		i.line(2)
		err = i.print(text, 2)
		if err == nil {
			_, err = i.out.Write(nil) // reports an error of before
		}
		if err != nil {
			return err
		}
	}
	if before != "" {
		i.line(1)
	}
	return i.out.WriteByte(']')
}
