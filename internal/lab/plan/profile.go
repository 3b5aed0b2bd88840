package plan

import (
	"reflect"
	"slices"
	"sync"

	"airtide/experiments"
)

// profiles returns the embedded files as trees. They are parsed once.
var profiles = sync.OnceValues(func() (map[string]*node, error) {
	trees := map[string]*node{}
	for _, name := range experiments.Profiles() {
		data, err := experiments.ReadProfile(name)
		if err != nil {
			return nil, err
		}
		tree, err := parse("terminals/"+name+experiments.Ending, data)
		if err != nil {
			return nil, err
		}
		trees[name] = tree
	}
	return trees, nil
})

// ProfileNames lists the existing profiles.
func ProfileNames() []string {
	trees, err := profiles()
	if err != nil {
		panic("plan: embedded profiles: " + err.Error()) // a test reads them all
	}
	var names []string
	for name := range trees {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// serverFields are the fields that a server takes from a profile. A server has no radio.
var serverFields = fieldNames(reflect.TypeFor[Server]())

// applyProfiles adds the values of profiles to terminals and servers. Terminals without a standard
// get the values of the cell's radio.
func applyProfiles(root *node, problems *Problems) {
	names := ProfileNames()
	trees, _ := profiles()
	lay := func(section string, keep []string) {
		machines := root.get(section)
		if machines == nil || machines.kind != mapping {
			return
		}
		for _, f := range machines.fields {
			name := f.value.get("profile")
			if name == nil {
				continue
			}
			tree, ok := trees[name.text]
			if !ok {
				problems.add(
					Problem{
						name.Position, join(join(section, f.name), "profile"), name.describe(),
						oneOf(name.text, names),
					},
				)
				continue
			}
			base := tree.without("title", "sources")
			wired := f.value.get("link") != nil && f.value.get("link").text == string(Ethernet)
			base.fields = slices.DeleteFunc(base.fields, func(b field) bool {
				return !slices.Contains(keep, b.name) || wired && b.name == "radio" // a phone on a cable
			})
			machines.put(f.name, f.value.mergeBelow(base), f.Position)
		}
	}
	lay("terminals", fieldNames(reflect.TypeFor[Terminal]()))
	lay("servers", serverFields)

	radio := root.get("cell").get("radio")
	machines := root.get("terminals")
	if radio == nil || radio.kind != mapping || machines == nil || machines.kind != mapping {
		return
	}
	for _, f := range machines.fields {
		link, own := f.value.get("link"), f.value.get("radio")
		wired := link != nil && link.text == string(Ethernet)
		if wired || own.get("standard") != nil || f.value.kind != mapping && f.value.kind != nothing {
			continue
		}
		whole := &node{Position: radio.Position, kind: mapping, fields: []field{{radio.Position, "radio", radio}}}
		machines.put(f.name, f.value.mergeBelow(whole), f.Position)
	}
}
