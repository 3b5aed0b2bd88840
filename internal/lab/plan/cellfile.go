package plan

import (
	"fmt"
	"net/netip"
	"reflect"
	"strings"
)

// CellFile is a cell without an experiment: the machines, cell and path of an experiment's file,
// without its flows.
type CellFile struct {
	Name  string
	Seed  uint64
	Setup *Setup
	// Outside contains the machines that are reached through an interface, by name.
	Outside map[string]Outside
}

// Outside is an existing interface that replaces a machine.
type Outside struct {
	Interface string
	// Addresses are the addresses behind the interface. Hosts there use Gateway as their router.
	// Via is the router to them.
	Addresses []netip.Prefix
	Gateway   []netip.Addr
	Via       []netip.Addr
}

// outsideText is Outside as a file writes it.
type outsideText struct {
	Interface string `json:"interface"`
	Addresses Names  `json:"addresses"`
	Gateway   Names  `json:"gateway,omitzero"`
	Via       Names  `json:"via,omitzero"`
}

// notOfCells are the parts of an experiment that a cell file ignores.
var notOfCells = []string{"sweep", "flows", "measure", "claims", "figures", "record"}

// endless is the duration of a cell without an experiment, for its schedules. It is the longest
// duration that a file may have.
const endless = "168 h"

// ReadCell checks a cell's file: terminals, servers, cell and path as in an experiment, and
// "outside" for machines. It applies the first point of a sweep, turns virtual machines into
// namespaces, and ignores the other parts of an experiment. The error is a Problems.
func ReadCell(file string, data []byte) (*CellFile, error) {
	root, err := parseMapping(file, data, "a mapping with terminals and servers")
	if err != nil {
		return nil, err
	}
	var problems Problems
	entries, _ := readSweep(root, &problems)
	if len(problems) > 0 {
		return nil, problems.err()
	}
	tree := root.without(notOfCells...).clone()
	product(entries)[0].assign(tree, &problems)
	c := &CellFile{Outside: readOutside(tree, &problems)}
	useNamespaces(tree)
	word := func(name, value string) {
		if tree.get(name) == nil {
			tree.put(name, &node{Position: root.Position, kind: scalar, text: value}, root.Position)
		}
	}
	word("name", "cell")
	word("duration", endless)
	tree.put("flows", &node{Position: root.Position, kind: mapping}, root.Position)
	r := reader{problems: &problems, cellAlone: true}
	r.split(tree)
	e := r.point(option{})
	c.check(tree, e, &problems)
	if len(problems) == 0 && e.size() > maxSize {
		problems.add(tooLarge(root))
	}
	if err := problems.err(); err != nil {
		return nil, err
	}
	c.Setup = e.resolve()
	c.Name = e.Name
	c.Seed = e.Seed
	return c, nil
}

// useNamespaces turns the virtual machines of a tree into namespaces.
func useNamespaces(tree *node) {
	terminals := tree.get("terminals")
	if terminals == nil {
		return
	}
	for i := range terminals.fields {
		if t := &terminals.fields[i]; t.value.kind == mapping {
			t.value = t.value.without("kind", "kernel", "time")
		}
	}
}

// readOutside removes "outside" from the machines of a tree and returns it.
func readOutside(tree *node, problems *Problems) map[string]Outside {
	all := map[string]Outside{}
	for _, section := range []string{"terminals", "servers"} {
		machines := tree.get(section)
		if machines == nil || machines.kind != mapping {
			continue
		}
		for i := range machines.fields {
			machine := &machines.fields[i]
			n := machine.value.get("outside")
			if n == nil {
				continue
			}
			path := join(join(section, machine.name), "outside")
			machine.value = machine.value.without("outside")
			all[machine.name] = decodeOutside(n, path, problems)
		}
	}
	return all
}

func decodeOutside(n *node, path string, problems *Problems) (o Outside) {
	var text outsideText
	d := &decoder{problems}
	d.value(n, path, reflect.ValueOf(&text).Elem())
	o.Interface = text.Interface
	complain := func(field, found, expected string) {
		at, _ := n.find(field)
		problems.add(Problem{at.Position, join(path, field), fmt.Sprintf("%q", found), expected})
	}
	for _, s := range text.Addresses {
		p, err := parsePrefix(s)
		if err != nil {
			complain("addresses", s, "an address or a network, such as 192.168.7.2 or 192.168.7.0/24")
		}
		o.Addresses = append(o.Addresses, p)
	}
	addresses := func(field string, from Names) (all []netip.Addr) {
		for _, s := range from {
			a, err := netip.ParseAddr(s)
			if err != nil {
				complain(field, s, "an address, such as 192.168.7.1")
			}
			all = append(all, a)
		}
		return all
	}
	o.Gateway = addresses("gateway", text.Gateway)
	o.Via = addresses("via", text.Via)
	return o
}

// parsePrefix reads a prefix. An address without a length is a prefix of one host.
func parsePrefix(s string) (netip.Prefix, error) {
	if strings.Contains(s, "/") {
		return netip.ParsePrefix(s)
	}
	a, err := netip.ParseAddr(s)
	if err != nil {
		return netip.Prefix{}, err
	}
	return netip.PrefixFrom(a, a.BitLen()), nil
}

func (f *CellFile) check(tree *node, e *Experiment, problems *Problems) {
	for name := range f.Outside {
		if t, ok := e.Terminals.Get(name); ok && t.Count > 0 {
			path := "terminals." + name
			at, _ := tree.find(path)
			problems.add(
				Problem{at.Position, path, "outside for a group", "a terminal by itself: an interface is one machine"},
			)
		}
	}
}
