package plan

import (
	"fmt"
	"net/netip"
	"reflect"
	"strings"
)

// CellFile is a cell that runs alone: the machines, cell and path of an experiment's file, without
// its flows.
type CellFile struct {
	Name  string
	Seed  uint64
	Setup *Setup
	// Outside are the machines that are reached by an interface, by name.
	Outside map[string]Outside
}

// Outside is an interface that exists already and takes the place of a machine.
type Outside struct {
	Interface string
	// Addresses that lie behind it; Gateway addresses that hosts there use as their router; Via,
	// the router there.
	Addresses []netip.Prefix
	Gateway   []netip.Addr
	Via       []netip.Addr
}

// outsideText is Outside as a file has it.
type outsideText struct {
	Interface string `json:"interface"`
	Addresses Names  `json:"addresses"`
	Gateway   Names  `json:"gateway,omitzero"`
	Via       Names  `json:"via,omitzero"`
}

// notOfCells are the parts of an experiment that a cell alone has no use for.
var notOfCells = []string{"sweep", "flows", "measure", "claims", "figures", "record"}

// endless is the duration of a cell that runs alone, for the times of its schedules. It is the
// longest duration that a file may have.
const endless = "168 h"

// ReadCell checks a cell's file: terminals, servers, cell and path as in an experiment. A terminal
// or server may have "outside". The other parts of an experiment are ignored, except that the first
// point of a sweep is applied; virtual machines become namespaces. The error is a Problems.
func ReadCell(file string, data []byte) (*CellFile, error) {
	root, err := parse(file, data)
	if err != nil {
		return nil, err
	}
	var problems Problems
	if root.kind != mapping {
		problems.add(Problem{root.Position, "", root.describe(), "a mapping with terminals and servers"})
		return nil, problems.err()
	}
	entries, _ := readSweep(root, &problems)
	if len(problems) > 0 {
		return nil, problems.err()
	}
	tree := root.without("sweep").clone()
	product(entries)[0].assign(tree, &problems)
	c := &CellFile{Outside: readOutside(tree, &problems)}
	tree = tree.without(notOfCells...)
	word := func(name, value string) {
		if tree.get(name) == nil {
			tree.fields = append(
				tree.fields, field{root.Position, name, &node{Position: root.Position, kind: scalar, text: value}},
			)
		}
	}
	word("name", "cell")
	word("duration", endless)
	tree.fields = append(tree.fields, field{root.Position, "flows", &node{Position: root.Position, kind: mapping}})
	applyProfiles(tree, &problems)
	e := &Experiment{}
	(&decoder{&problems}).value(tree, "", reflect.ValueOf(e).Elem())
	e.setDefaults()
	for i := range e.Terminals {
		t := &e.Terminals[i].Value
		t.Kind, t.Kernel, t.Time = "", "", Time{}
	}
	if len(problems) == 0 {
		check := checker{tree: tree, problems: &problems, e: e, machines: e.directory(), cellAlone: true}
		check.all()
		c.check(&check)
	}
	if err := problems.err(); err != nil {
		return nil, err
	}
	c.Name, c.Seed, c.Setup = e.Name, e.Seed, e.resolve()
	return c, nil
}

// readOutside takes "outside" out of the machines of a tree.
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
	o.Gateway, o.Via = addresses("gateway", text.Gateway), addresses("via", text.Via)
	return o
}

// parsePrefix reads a prefix. A plain address means a prefix of one host.
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

func (f *CellFile) check(c *checker) {
	for name := range f.Outside {
		if t, ok := c.e.Terminals.Get(name); ok && t.Count > 0 {
			c.problem("terminals."+name, "outside for a group", "a terminal by itself: an interface is one machine")
		}
	}
}
