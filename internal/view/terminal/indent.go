package terminal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"iter"
	"strconv"

	"airtide/internal/units"
)

// List prints indented JSON whose first member is a list, as its elements are found.
type List struct {
	indenter
	name    string
	Printed int
}

// NewList makes a list, the member with this name.
func (t *Terminal) NewList(name string) *List {
	return &List{indenter: indenter{out: bufio.NewWriterSize(t.Out, 1<<16)}, name: strconv.Quote(name)}
}

func (l *List) begin() {
	l.out.WriteByte('{')
	l.line(1)
	l.out.WriteString(l.name + ": [")
}

// Add prints an element.
func (l *List) Add(element any) error {
	text, err := json.Marshal(element)
	if err != nil {
		return err
	}
	if l.Printed == 0 {
		l.begin()
	} else {
		l.out.WriteByte(',')
	}
	l.Printed++
	l.line(2)
	if err := l.print(text, 2); err != nil {
		return err
	}
	_, err = l.out.Write(nil) // reports an error of before
	return err
}

// End prints the members behind the list, those of a struct.
func (l *List) End(rest any) error {
	text, err := json.Marshal(rest)
	if err != nil {
		return err
	}
	if l.Printed == 0 {
		l.begin()
	} else {
		l.line(1)
	}
	l.out.WriteString("],")
	l.line(1)
	if err := l.print(text[1:], 1); err != nil {
		return err
	}
	l.out.WriteByte('\n')
	return l.out.Flush()
}

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

// indents are those of usual depths.
const indents = "                "

func (i *indenter) line(depth int) {
	i.out.WriteByte('\n')
	for ; depth > len(indents)/2; depth-- {
		i.out.WriteString("  ")
	}
	i.out.WriteString(indents[:2*depth])
}

func structural(c byte) bool {
	switch c {
	case '"', ',', ':', '{', '}', '[', ']':
		return true
	}
	return false
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
		default: // a number or a name
			start := at
			for at+1 < len(text) && !structural(text[at+1]) {
				at++
			}
			w.Write(text[start : at+1])
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
