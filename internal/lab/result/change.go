package result

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"airtide/internal/lab/plan"
)

// maxChanges limits the reported changes: later changes usually follow from the first few.
const maxChanges = 12

// changes lists the differences between two plans that make finished runs unusable: settings,
// seeds, measurements, and runs that the new plan lacks.
func changes(before, now *plan.Plan, finished map[string]*Result) []string {
	var all []string
	add := func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	if a, b := before.Experiment.Name, now.Experiment.Name; a != b {
		add("name: was %s, is %s", a, b)
	}
	runs := map[string]plan.Run{}
	for _, r := range now.Runs {
		runs[r.ID] = r
	}
	compared := map[string]bool{}
	for _, run := range before.Runs {
		if finished[run.ID] == nil {
			continue
		}
		next, ok := runs[run.ID]
		switch {
		case !ok:
			add("run %s is finished, and no longer in the experiment", run.ID)
			continue
		case next.Seed != run.Seed:
			add("seed: the random numbers of repeat %d would be others", run.Repeat)
		}
		if a := before.Points[run.Point]; !compared[a.ID] {
			compared[a.ID] = true
			differences("", tree(a.Setup), tree(now.Points[next.Point].Setup), add)
		}
	}
	if len(compared) > 0 {
		differences("measure", tree(before.Experiment.Measure), tree(now.Experiment.Measure), add)
	}
	if n := len(all); n > maxChanges {
		all = append(all[:maxChanges], fmt.Sprintf("and %d more", n-maxChanges))
	}
	return all
}

// tree returns a value in the form in which encoding/json decodes it.
func tree(v any) any {
	data, err := json.Marshal(v)
	var out any
	if err == nil {
		err = json.Unmarshal(data, &out)
	}
	if err != nil {
		panic("result: encoding a plan as JSON: " + err.Error())
	}
	return out
}

// differences reports each difference between two trees with its path.
func differences(path string, a, b any, add func(format string, args ...any)) {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			names := slices.Concat(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b)))
			slices.Sort(names)
			for _, n := range slices.Compact(names) {
				differences(joined(path, n), a[n], b[n], add)
			}
			return
		}
	case []any:
		if b, ok := b.([]any); ok && len(a) == len(b) {
			for i := range a {
				differences(joined(path, label(a[i], i)), a[i], b[i], add)
			}
			return
		}
	}
	if x, y := shown(a), shown(b); x != y {
		add("%s: was %s, is %s", path, x, y)
	}
}

func joined(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// label returns the name of an item in a list, or else its index.
func label(item any, i int) string {
	if m, ok := item.(map[string]any); ok {
		if name, ok := m["name"].(string); ok {
			return name
		}
	}
	return fmt.Sprint(i)
}

// shown returns a value in one line.
func shown(v any) string {
	switch v := v.(type) {
	case nil:
		return "not set"
	case string:
		return v
	case []any:
		if names := named(v); names != "" {
			return names
		}
	}
	data, _ := json.Marshal(v)
	if text := []rune(string(data)); len(text) > 100 {
		return string(text[:100]) + "…"
	}
	return string(data)
}

// named lists the items by name, if all items have names.
func named(items []any) string {
	text := ""
	for i, item := range items {
		m, ok := item.(map[string]any)
		name, has := m["name"].(string)
		if !ok || !has {
			return ""
		}
		if i > 0 {
			text += ", "
		}
		text += name
	}
	return text
}
