package plan

import (
	"reflect"
	"slices"
	"sync"

	"airtide/experiments"
	"airtide/internal/lab/document"
)

// profiles returns the embedded files as trees. They are parsed once.
var profiles = sync.OnceValues(func() (map[string]*document.Node, error) {
	trees := map[string]*document.Node{}
	for _, name := range experiments.Profiles() {
		data, err := experiments.ReadProfile(name)
		if err != nil {
			return nil, err
		}
		tree, err := document.Parse("terminals/"+name+experiments.Ending, data)
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
var serverFields = document.FieldNames(reflect.TypeFor[Server]())

// applyProfiles adds the values of profiles to terminals and servers. Terminals without a standard
// get the values of the cell's radio.
func applyProfiles(root *document.Node, problems *Problems) {
	names := ProfileNames()
	trees, _ := profiles()
	lay := func(section string, keep []string) {
		machines := root.Get(section)
		if machines == nil || machines.Kind != document.Mapping {
			return
		}
		for _, f := range machines.Fields {
			name := f.Value.Get("profile")
			if name == nil {
				continue
			}
			tree, ok := trees[name.Text]
			if !ok {
				path := document.Join(document.Join(section, f.Name), "profile")
				problems.Add(name.Position, path, name.Describe(), document.OneOf(name.Text, names))
				continue
			}
			base := tree.Without("title", "sources")
			wired := f.Value.Get("link") != nil && f.Value.Get("link").Text == string(Ethernet)
			base.Fields = slices.DeleteFunc(base.Fields, func(b document.Field) bool {
				return !slices.Contains(keep, b.Name) || wired && b.Name == "radio" // a phone on a cable
			})
			machines.Put(f.Name, f.Value.MergeBelow(base), f.Position)
		}
	}
	lay("terminals", document.FieldNames(reflect.TypeFor[Terminal]()))
	lay("servers", serverFields)

	radio := root.Get("cell").Get("radio")
	machines := root.Get("terminals")
	if radio == nil || radio.Kind != document.Mapping || machines == nil || machines.Kind != document.Mapping {
		return
	}
	for _, f := range machines.Fields {
		link := f.Value.Get("link")
		own := f.Value.Get("radio")
		wired := link != nil && link.Text == string(Ethernet)
		if wired || own.Get("standard") != nil || f.Value.Kind != document.Mapping && f.Value.Kind != document.Nothing {
			continue
		}
		whole := &document.Node{Position: radio.Position, Kind: document.Mapping}
		whole.Put("radio", radio, radio.Position)
		machines.Put(f.Name, f.Value.MergeBelow(whole), f.Position)
	}
}
