package plan

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// examples are the YAML parts of a guide.
func examples(t *testing.T, path string) []string {
	t.Helper()
	guide, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, part := range strings.Split(string(guide), "```yaml\n")[1:] {
		text, _, _ := strings.Cut(part, "```")
		all = append(all, text)
	}
	return all
}

// laid puts a tree over another.
func laid(under, over map[string]any) map[string]any {
	all := map[string]any{}
	for name, value := range under {
		all[name] = value
	}
	for name, value := range over {
		a, isMapping := all[name].(map[string]any)
		if b, too := value.(map[string]any); isMapping && too {
			value = laid(a, b)
		}
		all[name] = value
	}
	return all
}

// The first example of the guide is a whole file, the others are parts of one.
func TestTheGuidesExamplesPassTheChecker(t *testing.T) {
	parts := examples(t, "../../../docs/reference/experiment.md")
	if len(parts) < 5 {
		t.Fatalf("the guide has %d examples", len(parts))
	}
	tree := func(text string) (tree map[string]any) {
		if err := yaml.Load([]byte(text), &tree); err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		return tree
	}
	whole := tree(parts[0])
	for i, text := range parts {
		file := whole
		if i > 0 {
			part := tree(text)
			file = laid(whole, part)
			if part["sweep"] != nil { // what is said of the first one's parameters has no place here
				delete(file, "claims")
				delete(file, "figures")
			}
		}
		data, err := yaml.Dump(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Read(t.Context(), "docs/reference/experiment.md", data); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
	}
}

// A search for the name of a field finds it in the guides.
func TestTheGuidesShowEveryFieldOfThePathAndEveryKindOfSweep(t *testing.T) {
	shown := strings.Join(
		append(examples(t, "../../../docs/reference/experiment.md"), examples(t, "../../../docs/reference/cell.md")...),
		"\n",
	)
	var look func(reflect.Type)
	look = func(of reflect.Type) {
		for i := range of.NumField() {
			f := of.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if f.Anonymous {
				look(f.Type)
			} else if !strings.Contains(shown, name+":") {
				t.Errorf("no example has the field %s", name)
			}
		}
	}
	for _, of := range []reflect.Type{
		reflect.TypeFor[Path](), reflect.TypeFor[BurstLoss](), reflect.TypeFor[Sweep](), reflect.TypeFor[Axis](),
	} {
		look(of)
	}
}
