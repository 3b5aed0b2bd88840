package terminal

import (
	"bytes"
	"encoding/json"
	"io"
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
	return &List{indenter: indenter{out: t.Out}, name: strconv.Quote(name)}
}

func (l *List) begin() {
	l.put("{")
	l.line(1)
	l.put(l.name + ": [")
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
		l.put(",")
	}
	l.Printed++
	l.line(2)
	return l.print(text, 2)
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
	l.put("],")
	l.line(1)
	if err := l.print(text[1:], 1); err != nil {
		return err
	}
	l.put("\n")
	return l.flush()
}

// indenter indents encoded JSON as json.Indent does, without a copy of the whole. It escapes the
// characters that a terminal could obey.
type indenter struct {
	out    io.Writer
	buffer []byte // bytes to write
	// The member of the outermost object with this name, in quotes, is an empty list. It is filled
	// with these elements.
	list     string
	elements iter.Seq[any]
}

// bufferedBytes is the length of buffer from which it is written.
const bufferedBytes = 64 << 10

// Write takes one encoded value.
func (i *indenter) Write(text []byte) (int, error) {
	if err := i.print(text, 0); err != nil {
		return 0, err
	}
	return len(text), i.flush()
}

func (i *indenter) flush() error {
	_, err := i.out.Write(i.buffer)
	i.buffer = i.buffer[:0]
	return err
}

func (i *indenter) put(text string) { i.buffer = append(i.buffer, text...) }

// lineIndent begins a line with the indent of usual depths.
const lineIndent = "\n                "

func (i *indenter) line(depth int) {
	const longest = len(lineIndent) / 2
	i.put(lineIndent[:1+2*min(depth, longest)])
	for ; depth > longest; depth-- {
		i.put("  ")
	}
}

// print indents a value that begins at a depth.
func (i *indenter) print(text []byte, depth int) error {
	for at := 0; at < len(text); at++ {
		switch c := text[at]; c {
		case '"':
			end, plain := endOfString(text, at)
			word := text[at:end]
			at = end - 1
			if !plain {
				word = units.EscapeJSON(word)
			}
			i.buffer = append(i.buffer, word...)
			if depth == 1 && string(word) == i.list && bytes.HasPrefix(text[end:], []byte(":[]")) {
				at += len(":[]")
				if err := i.fill(); err != nil {
					return err
				}
			}
		case '{', '[':
			if next := text[at+1]; next == '}' || next == ']' {
				at++
				i.buffer = append(i.buffer, c, next)
				continue
			}
			depth++
			i.buffer = append(i.buffer, c)
			i.line(depth)
		case '}', ']':
			depth--
			i.line(depth)
			i.buffer = append(i.buffer, c)
		case ',':
			i.buffer = append(i.buffer, c)
			i.line(depth)
			if len(i.buffer) >= bufferedBytes {
				if err := i.flush(); err != nil {
					return err
				}
			}
		case ':':
			i.put(": ")
		default: // a number or a name
			i.buffer = append(i.buffer, c)
		}
	}
	return nil
}

// endOfString returns the end of the string that begins at a place, and whether it has only ASCII.
func endOfString(text []byte, at int) (end int, plain bool) {
	plain = true
	for at++; text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
		plain = plain && text[at] < 0x7f
	}
	return at + 1, plain
}

// element indents the encoded value of an element, without the end of line behind it.
type element struct{ *indenter }

func (e element) Write(text []byte) (int, error) {
	return len(text), e.print(bytes.TrimSuffix(text, []byte("\n")), 2)
}

// fill prints the elements of the list.
func (i *indenter) fill() error {
	i.put(": [")
	encoder := json.NewEncoder(element{i})
	before := ""
	for e := range i.elements {
		i.put(before)
		before = ","
		i.line(2)
		if err := encoder.Encode(e); err != nil {
			return err
		}
	}
	if before != "" {
		i.line(1)
	}
	i.put("]")
	return nil
}
