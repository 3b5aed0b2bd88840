package document

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"strconv"
)

// Named is a list of named items in the order of the file.
type Named[T any] []Item[T]

// Item is a value with its name.
type Item[T any] struct {
	Name  string
	Value T
}

// NamePattern matches the names of terminals, flows and measurements. These names are also valid
// for network namespaces and files and in the expressions of claims.
const NamePattern = `^[a-z][a-z0-9_]{0,39}$`

var nameRegexp = regexp.MustCompile(NamePattern)

// IsName reports whether a text is a name.
func IsName(text string) bool { return nameRegexp.MatchString(text) }

// Get returns the value with a name.
func (s Named[T]) Get(name string) (T, bool) {
	for _, i := range s {
		if i.Name == name {
			return i.Value, true
		}
	}
	var none T
	return none, false
}

// Names returns the names.
func (s Named[T]) Names() []string {
	names := make([]string, len(s))
	for i := range s {
		names[i] = s[i].Name
	}
	return names
}

func (s *Named[T]) decode(d *decoder, n *Node, path string) {
	if n.Kind != Mapping && n.Kind != Nothing {
		d.expected(n, path, "a mapping of names")
		return
	}
	*s = make(Named[T], len(n.Fields))
	for i, f := range n.Fields {
		if !nameRegexp.MatchString(f.Name) {
			found := (&Node{Kind: Scalar, Text: f.Name}).Describe() + " as a name"
			d.problems.Add(f.Position, path, found, "up to 40 of a-z, 0-9 and _, the first a letter")
		}
		(*s)[i].Name = f.Name
		d.value(f.Value, Join(path, f.Name), reflect.ValueOf(&(*s)[i].Value).Elem())
	}
}

// MarshalJSON writes a mapping in the order of the file.
func (s Named[T]) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, item := range s {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(item.Name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(item.Value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Names is a list of names. A file may write one name without a list.
type Names []string

func (s *Names) decode(d *decoder, n *Node, path string) {
	switch n.Kind {
	case Scalar:
		*s = Names{n.Text}
	case Sequence:
		for i, item := range n.Items {
			if item.Kind != Scalar {
				d.expected(item, Join(path, strconv.Itoa(i)), "a name")
				continue
			}
			*s = append(*s, item.Text)
		}
	default:
		d.expected(n, path, "a name or a list of names")
	}
}
