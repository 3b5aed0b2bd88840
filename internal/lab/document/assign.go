package document

import "fmt"

// Assign sets the value at a path and creates missing mappings. A star stands for every field or
// item.
func (n *Node) Assign(path []string, value *Node, at Position) bool {
	name := path[0]
	last := len(path) == 1
	if n.Kind == Nothing {
		n.Kind = Mapping
	}
	switch {
	case name == "":
		return false
	case name == "*" && n.Kind == Mapping && len(n.Fields) > 0:
		for i := range n.Fields {
			if last {
				n.Fields[i].Value = value.Clone()
			} else if !n.Fields[i].Value.Assign(path[1:], value, at) {
				return false
			}
		}
		return true
	case name == "*" && n.Kind == Sequence && len(n.Items) > 0:
		for i := range n.Items {
			if last {
				n.Items[i] = value.Clone()
			} else if !n.Items[i].Assign(path[1:], value, at) {
				return false
			}
		}
		return true
	case name == "*" || n.Kind == Scalar:
		return false
	case n.Kind == Sequence:
		item := n.step(name)
		if item == nil {
			return false
		}
		if last {
			*item = *value.Clone()
			return true
		}
		return item.Assign(path[1:], value, at)
	case last:
		n.Put(name, value.Clone(), at)
		return true
	}
	next := n.Get(name)
	if next == nil {
		next = &Node{Position: at, Kind: Mapping}
		n.Put(name, next, at)
	}
	return next.Assign(path[1:], value, at)
}

// NearestTo returns the last existing node of a path and the names of its fields.
func (n *Node) NearestTo(path string) (at *Node, names string) {
	at, _ = n.Find(path)
	switch at.Kind {
	case Mapping:
		var have []string
		for _, f := range at.Fields {
			have = append(have, f.Name)
		}
		return at, OneOf("", have)
	case Sequence:
		return at, fmt.Sprintf("an item from 0 to %d", len(at.Items)-1)
	}
	return at, "a path to a value of the file"
}
