package plan

import (
	"fmt"
	"net/netip"
	"strings"
	"unicode"

	"golang.org/x/sys/unix"

	"airtide/internal/lab/document"
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
	root, err := document.ParseMapping(file, data, "a mapping with terminals and servers")
	if err != nil {
		return nil, err
	}
	var problems Problems
	entries, _ := readSweep(root, &problems)
	if len(problems) > 0 {
		return nil, problems.Err()
	}
	tree := root.Without(notOfCells...).Clone()
	product(entries)[0].assign(tree, &problems)
	c := &CellFile{Outside: readOutside(tree, &problems)}
	useNamespaces(tree)
	word := func(name, value string) {
		if tree.Get(name) == nil {
			tree.Put(name, &document.Node{Position: root.Position, Kind: document.Scalar, Text: value}, root.Position)
		}
	}
	word("name", "cell")
	word("duration", endless)
	tree.Put("flows", &document.Node{Position: root.Position, Kind: document.Mapping}, root.Position)
	r := reader{problems: &problems, cellAlone: true}
	r.split(tree)
	e := r.point(option{})
	c.check(tree, e, &problems)
	if len(problems) == 0 && e.size() > maxSize {
		tooLarge(root, &problems)
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	c.Setup = e.resolve()
	c.Name = e.Name
	c.Seed = e.Seed
	return c, nil
}

// useNamespaces turns the virtual machines of a tree into namespaces.
func useNamespaces(tree *document.Node) {
	terminals := tree.Get("terminals")
	if terminals == nil {
		return
	}
	for i := range terminals.Fields {
		if t := &terminals.Fields[i]; t.Value.Kind == document.Mapping {
			t.Value = t.Value.Without("kind", "kernel", "time")
		}
	}
}

// readOutside removes "outside" from the machines of a tree and returns it.
func readOutside(tree *document.Node, problems *Problems) map[string]Outside {
	all := map[string]Outside{}
	for _, section := range []string{"terminals", "servers"} {
		machines := tree.Get(section)
		if machines == nil || machines.Kind != document.Mapping {
			continue
		}
		for i := range machines.Fields {
			machine := &machines.Fields[i]
			n := machine.Value.Get("outside")
			if n == nil {
				continue
			}
			path := document.Join(document.Join(section, machine.Name), "outside")
			machine.Value = machine.Value.Without("outside")
			all[machine.Name] = decodeOutside(n, path, problems)
		}
	}
	return all
}

func decodeOutside(n *document.Node, path string, problems *Problems) (o Outside) {
	var text outsideText
	document.Decode(n, path, &text, problems)
	o.Interface = text.Interface
	complain := func(field, found, expected string) {
		at, _ := n.Find(field)
		problems.Add(at.Position, document.Join(path, field), fmt.Sprintf("%q", found), expected)
	}
	if !isInterface(text.Interface) && n.Get("interface") != nil {
		complain("interface", text.Interface, "the name of a network interface: at most 15 letters, without / and :")
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

// isInterface reports whether a network interface can have a name (dev_valid_name in the kernel).
func isInterface(name string) bool {
	unfit := func(r rune) bool { return !unicode.IsPrint(r) || strings.ContainsRune("/: ", r) }
	return name != "" && len(name) < unix.IFNAMSIZ && name != "." && name != ".." && !strings.ContainsFunc(name, unfit)
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

func (f *CellFile) check(tree *document.Node, e *Experiment, problems *Problems) {
	for name := range f.Outside {
		if t, ok := e.Terminals.Get(name); ok && t.Count > 0 {
			path := "terminals." + name
			at, _ := tree.Find(path)
			problems.Add(at.Position, path, "outside for a group", "a terminal by itself: an interface is one machine")
		}
	}
}
