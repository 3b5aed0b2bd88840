package document

import (
	"slices"
	"strconv"
)

// Value is any value of a file.
type Value struct{ in *Node }

// Node returns the value in the tree.
func (v Value) Node() *Node { return v.in }

func (v *Value) decode(_ *decoder, n *Node, _ string) { v.in = n }

// MarshalJSON writes the value as in the file, with scalars as texts.
func (v Value) MarshalJSON() ([]byte, error) { return v.in.json(), nil }

func (n *Node) json() []byte {
	var b []byte
	switch n.Kind {
	case Scalar:
		return strconv.AppendQuote(nil, n.Text)
	case Sequence:
		for i, item := range n.Items {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(b, item.json()...)
		}
		return slices.Concat([]byte("["), b, []byte("]"))
	case Mapping:
		for i, f := range n.Fields {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(append(strconv.AppendQuote(b, f.Name), ':'), f.Value.json()...)
		}
		return slices.Concat([]byte("{"), b, []byte("}"))
	}
	return []byte("null")
}
