package plan

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

// Limits of the input. An experiment usually has some hundred lines.
const (
	maxFileBytes = 256 << 10
	maxDepth     = 32
)

type kind uint8

const (
	nothing kind = iota
	scalar
	sequence
	mapping
)

func (k kind) String() string {
	return [...]string{"nothing", "a single value", "a list", "a mapping"}[k]
}

// node is a value of a YAML file with its position.
type node struct {
	Position
	kind   kind
	text   string  // of a scalar, as written
	items  []*node // of a sequence
	fields []field // of a mapping, in the file's order
}

type field struct {
	Position
	name  string
	value *node
}

// get returns the value of a field; nil if it is missing.
func (n *node) get(name string) *node {
	if n == nil {
		return nil
	}
	for _, f := range n.fields {
		if f.name == name {
			return f.value
		}
	}
	return nil
}

// describe returns the kind of a node, for "found ...".
func (n *node) describe() string {
	if n.kind == scalar {
		text := []rune(n.text)
		if len(text) > 60 {
			text = append(text[:60], '…')
		}
		return fmt.Sprintf("%q", string(text))
	}
	return n.kind.String()
}

// wanted describes the files that this package reads.
const wanted = "an experiment or a cell in YAML"

// otherKind describes data that is no experiment and no cell; "" if it may be one.
func otherKind(data []byte) string {
	switch {
	case trace.IsRecording(data):
		return "a recording (airtide info shows it)"
	case bytes.IndexByte(data, 0) >= 0:
		return "a binary file"
	case len(data) > maxFileBytes:
		return fmt.Sprintf("more than %d bytes", maxFileBytes)
	}
	return ""
}

// parse reads YAML into nodes. It refuses anchors, aliases, tags, merge keys and several documents,
// because they make values hard to locate or to limit. Profiles and sweeps replace them.
func parse(file string, data []byte) (*node, error) {
	start := Position{file, 1, 1}
	if found := otherKind(data); found != "" {
		return nil, Problems{{start, "", found, wanted}}
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
	return root, problems.err()
}

// parseMapping is parse for a file that is a mapping. expected describes it.
func parseMapping(file string, data []byte, expected string) (*node, error) {
	root, err := parse(file, data)
	if err == nil && root.kind != mapping {
		err = Problems{{root.Position, "", root.describe(), expected}}
	}
	return root, err
}

func convert(file string, y *yaml.Node, problems *Problems) *node {
	n := &node{Position: Position{file, max(y.Line, 1), max(y.Column, 1)}}
	refuse := func(what string) *node {
		problems.add(
			Problem{
				n.Position, "", what,
				"plain YAML without anchors, aliases, tags and merge keys (a profile or a sweep can say it)",
			},
		)
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
			n.kind = scalar
			n.text = y.Value
		}
	case yaml.SequenceNode:
		n.kind = sequence
		for _, item := range y.Content {
			n.items = append(n.items, convert(file, item, problems))
		}
	case yaml.MappingNode:
		n.kind = mapping
		seen := map[string]bool{}
		for i := 0; i+1 < len(y.Content); i += 2 {
			key := convert(file, y.Content[i], problems)
			switch {
			case y.Content[i].Tag == "!!merge":
				refuse("the merge key <<")
			case key.kind != scalar:
				problems.add(Problem{key.Position, "", key.describe() + " as a name", "a word"})
			case seen[key.text]:
				problems.add(Problem{key.Position, "", fmt.Sprintf("%q a second time", key.text), "each name once"})
			default:
				seen[key.text] = true
				n.fields = append(n.fields, field{key.Position, key.text, convert(file, y.Content[i+1], problems)})
			}
		}
	}
	return n
}

// find follows a path to its last existing node. It reports whether this is the end of the path.
func (n *node) find(path string) (*node, bool) {
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
func (n *node) step(name string) *node {
	if n.kind != sequence {
		return n.get(name)
	}
	var i int
	if _, err := fmt.Sscanf(name, "%d", &i); err != nil || i < 0 || i >= len(n.items) {
		return nil
	}
	return n.items[i]
}

// clone copies a tree, so that a point of a sweep can change it.
func (n *node) clone() *node {
	c := *n
	c.items = make([]*node, len(n.items))
	for i, item := range n.items {
		c.items[i] = item.clone()
	}
	c.fields = make([]field, len(n.fields))
	for i, f := range n.fields {
		c.fields[i] = field{f.Position, f.name, f.value.clone()}
	}
	return &c
}

// mergeBelow fills the missing fields of this mapping from another mapping.
func (n *node) mergeBelow(base *node) *node {
	if n == nil || n.kind == nothing {
		return base.clone()
	}
	if n.kind != mapping || base.kind != mapping {
		return n
	}
	merged := n.clone()
	for _, f := range base.fields {
		own := merged.get(f.name)
		if own == nil {
			merged.fields = append(merged.fields, field{f.Position, f.name, f.value.clone()})
			continue
		}
		merged.put(f.name, own.mergeBelow(f.value), f.Position)
	}
	return merged
}

// put sets the value of a field.
func (n *node) put(name string, value *node, at Position) {
	for i := range n.fields {
		if n.fields[i].name == name {
			n.fields[i].value = value
			return
		}
	}
	n.fields = append(n.fields, field{at, name, value})
}

// without returns a mapping without some fields.
func (n *node) without(names ...string) *node {
	c := *n
	c.fields = nil
	for _, f := range n.fields {
		if !slices.Contains(names, f.name) {
			c.fields = append(c.fields, f)
		}
	}
	return &c
}
