package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"

	"airtide/internal/recording/trace"
)

// MaxBytes limits the size of a file. An experiment usually has some hundred lines.
const MaxBytes = 256 << 10

const maxDepth = 32

// Kind is the kind of a node.
type Kind uint8

// The kinds of nodes.
const (
	Nothing Kind = iota
	Scalar
	Sequence
	Mapping
)

func (k Kind) String() string {
	return [...]string{"nothing", "a single value", "a list", "a mapping"}[k]
}

// Node is a value of a YAML file with its position.
type Node struct {
	Position
	Kind   Kind
	Text   string  // a scalar's text, as written
	Items  []*Node // a sequence's items
	Fields []Field // a mapping's fields, in the file's order
}

// Field is a named value of a mapping.
type Field struct {
	Position
	Name  string
	Value *Node
}

// Get returns the value of a field; nil if it is missing.
func (n *Node) Get(name string) *Node {
	if n == nil {
		return nil
	}
	for _, f := range n.Fields {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// Describe returns the kind of a node, for "found ...".
func (n *Node) Describe() string {
	if n.Kind == Scalar {
		return fmt.Sprintf("%q", cut(n.Text, maxValue))
	}
	return n.Kind.String()
}

// Wanted describes the files that this package reads.
const Wanted = "an experiment or a cell in YAML"

// otherKind describes data that is no experiment and no cell; "" if it may be one.
func otherKind(data []byte) string {
	switch {
	case trace.IsRecording(data):
		return "a recording (airtide info shows it)"
	case bytes.IndexByte(data, 0) >= 0:
		return "a binary file"
	case len(data) > MaxBytes:
		return fmt.Sprintf("more than %d bytes", MaxBytes)
	}
	return ""
}

// Parse reads YAML into nodes. It refuses anchors, aliases, tags, merge keys and several documents,
// because they make values hard to locate or to limit. Profiles and sweeps replace them.
func Parse(file string, data []byte) (*Node, error) {
	start := Position{file, 1, 1}
	if found := otherKind(data); found != "" {
		return nil, Problems{{start, "", found, Wanted}}
	}
	empty := Problems{{start, "", "an empty file", "an experiment"}}
	var document yaml.Node
	limits := loaderlimits.New(loaderlimits.DepthValue(maxDepth), loaderlimits.AliasValue(1))
	loader, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithPlugin(limits))
	if err != nil {
		return nil, fmt.Errorf("making a YAML loader: %w", err)
	}
	switch err := loader.Load(&document); {
	case errors.Is(err, io.EOF):
		return nil, empty
	case err != nil:
		found := Problem{start, "", "invalid YAML: " + err.Error(), ""}
		if e := new(yaml.LoadError); errors.As(err, &e) {
			found.Found = "invalid YAML: " + e.Message
			found.Line = max(e.Mark.Line, 1)
			found.Column = max(e.Mark.Column, 1)
		}
		return nil, Problems{found}
	}
	if len(document.Content) == 0 {
		return nil, empty
	}
	var second yaml.Node
	if err := loader.Load(&second); !errors.Is(err, io.EOF) {
		return nil, Problems{
			{
				Position{file, max(second.Line, 1), max(second.Column, 1)},
				"",
				"more after the end of the document", "one document",
			},
		}
	}
	var problems Problems
	root := convert(file, document.Content[0], &problems)
	return root, problems.Err()
}

// ParseMapping is parse for a file that is a mapping. expected describes it.
func ParseMapping(file string, data []byte, expected string) (*Node, error) {
	root, err := Parse(file, data)
	if err == nil && root.Kind != Mapping {
		err = Problems{{root.Position, "", root.Describe(), expected}}
	}
	return root, err
}

func convert(file string, y *yaml.Node, problems *Problems) *Node {
	n := &Node{Position: Position{file, max(y.Line, 1), max(y.Column, 1)}}
	refuse := func(what string) *Node {
		problems.Add(n.Position, "", what,
			"plain YAML without anchors, aliases, tags and merge keys (a profile or a sweep can say it)")
		return n
	}
	switch {
	case y.Kind == yaml.AliasNode:
		return refuse("the alias *" + y.Value)
	case y.Anchor != "":
		return refuse("the anchor &" + y.Anchor)
	case y.Style&yaml.TaggedStyle != 0:
		return refuse("the tag " + y.Tag)
	}
	switch y.Kind {
	case yaml.ScalarNode:
		if y.Tag != "!!null" {
			n.Kind = Scalar
			n.Text = y.Value
		}
	case yaml.SequenceNode:
		n.Kind = Sequence
		for _, item := range y.Content {
			n.Items = append(n.Items, convert(file, item, problems))
		}
	case yaml.MappingNode:
		n.Kind = Mapping
		seen := map[string]bool{}
		for i := 0; i+1 < len(y.Content); i += 2 {
			key := convert(file, y.Content[i], problems)
			switch {
			case y.Content[i].Tag == "!!merge":
				refuse("the merge key <<")
			case key.Kind != Scalar:
				problems.Add(key.Position, "", key.Describe()+" as a name", "a word")
			case seen[key.Text]:
				problems.Add(key.Position, "", fmt.Sprintf("%q a second time", key.Text), "each name once")
			default:
				seen[key.Text] = true
				n.Fields = append(n.Fields, Field{key.Position, key.Text, convert(file, y.Content[i+1], problems)})
			}
		}
	}
	return n
}

// Find follows a path to its last existing node. It reports whether this is the end of the path.
func (n *Node) Find(path string) (*Node, bool) {
	for _, name := range strings.Split(path, ".") {
		next := n.step(name)
		if next == nil {
			return n, false
		}
		n = next
	}
	return n, true
}

// step returns a field, or an item by its index.
func (n *Node) step(name string) *Node {
	if n.Kind != Sequence {
		return n.Get(name)
	}
	var i int
	if _, err := fmt.Sscanf(name, "%d", &i); err != nil || i < 0 || i >= len(n.Items) {
		return nil
	}
	return n.Items[i]
}

// Clone copies a tree, so that a point of a sweep can change it.
func (n *Node) Clone() *Node {
	c := *n
	c.Items = make([]*Node, len(n.Items))
	for i, item := range n.Items {
		c.Items[i] = item.Clone()
	}
	c.Fields = make([]Field, len(n.Fields))
	for i, f := range n.Fields {
		c.Fields[i] = Field{f.Position, f.Name, f.Value.Clone()}
	}
	return &c
}

// MergeBelow fills the missing fields of this mapping from another mapping.
func (n *Node) MergeBelow(base *Node) *Node {
	if n == nil || n.Kind == Nothing {
		return base.Clone()
	}
	if n.Kind != Mapping || base.Kind != Mapping {
		return n
	}
	merged := n.Clone()
	for _, f := range base.Fields {
		own := merged.Get(f.Name)
		if own == nil {
			merged.Fields = append(merged.Fields, Field{f.Position, f.Name, f.Value.Clone()})
			continue
		}
		merged.Put(f.Name, own.MergeBelow(f.Value), f.Position)
	}
	return merged
}

// Put sets the value of a field.
func (n *Node) Put(name string, value *Node, at Position) {
	for i := range n.Fields {
		if n.Fields[i].Name == name {
			n.Fields[i].Value = value
			return
		}
	}
	n.Fields = append(n.Fields, Field{at, name, value})
}

// Without returns a mapping without some fields.
func (n *Node) Without(names ...string) *Node {
	c := *n
	c.Fields = nil
	for _, f := range n.Fields {
		if !slices.Contains(names, f.Name) {
			c.Fields = append(c.Fields, f)
		}
	}
	return &c
}
