package plan

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

const swept = `# A comment
name: swept
repeats: 2 # each
terminals: {phone: {radio: {standard: n, phy_rate: 65 Mbit/s}}}
servers: {server: {}}
flows: {up: {from: phone, to: server, protocol: tcp}}
sweep:
  - {over: path.rtt, values: [0 ms, 16 ms, 32 ms]}
  - {over: terminals.phone.congestion, values: [cubic, reno]}
`

func planned(t *testing.T, text string) *Plan {
	t.Helper()
	p, err := Read(t.Context(), "swept.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAPartHasTheRunsOfTheWhole(t *testing.T) {
	p := planned(t, swept)
	for _, c := range []struct {
		points []string
		want   int
	}{
		{[]string{"rtt=16 ms"}, 2},
		{[]string{"rtt=16ms,congestion=reno"}, 1},
		{[]string{"rtt=0.016 s, congestion=cubic", "rtt=0 ms"}, 3},
		{[]string{p.Points[5].ID}, 1},
		{nil, 6},
	} {
		part, err := p.Part(c.points)
		if err != nil {
			t.Fatal(err)
		}
		if len(part.Points) != c.want || len(part.Runs) != 2*c.want {
			t.Errorf("%q: %d points and %d runs, want %d points", c.points, len(part.Points), len(part.Runs), c.want)
		}
		for _, r := range part.Runs {
			i := slices.IndexFunc(p.Runs, func(whole Run) bool { return whole.ID == r.ID })
			if i < 0 || p.Runs[i].Seed != r.Seed || !strings.HasPrefix(r.ID, part.Points[r.Point].ID) {
				t.Errorf("%q: run %+v is not one of the whole", c.points, r)
			}
		}
	}
}

func TestAPartThatDoesNotExistIsMisuse(t *testing.T) {
	p := planned(t, swept)
	for text, want := range map[string]string{
		"rt=16 ms":        "(did you mean rtt?)",
		"rtt":             "expected rtt=VALUE",
		"rtt=17 ms":       "expected one of: 0 ms, 16 ms, 32 ms",
		"congestion=cubi": "(did you mean cubic?)",
		"rtt=0 ms,rtt=16": `no value "16" of rtt`,
	} {
		_, err := p.Part([]string{text})
		if _, ok := errors.AsType[*PartError](err); !ok || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", text, err)
		}
	}
	if _, err := p.Part([]string{"rtt=0 ms,rtt=16 ms"}); err == nil || !strings.Contains(err.Error(), "no point") {
		t.Errorf("got %v", err)
	}
	whole := planned(t, strings.Split(swept, "sweep:")[0])
	if _, err := whole.Part([]string{"rtt=0 ms"}); err == nil || !strings.Contains(err.Error(), "without a sweep") {
		t.Errorf("got %v", err)
	}
}

func TestRepeatsChangeTheText(t *testing.T) {
	for name, text := range map[string]string{
		"given":   swept,
		"missing": strings.Replace(swept, "repeats: 2 # each\n", "", 1),
		"quoted":  strings.Replace(swept, "repeats: 2", `repeats:     2`, 1),
	} {
		p, err := planned(t, text).Repeated(t.Context(), "swept.yaml", 7)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(p.Runs) != 7*6 || !strings.Contains(string(p.Source), "# A comment\n") {
			t.Errorf("%s: %d runs, text %s", name, len(p.Runs), p.Source)
		}
	}
	seeds := planned(t, strings.Replace(swept, "repeats: 2", "seeds: [1, 2]", 1))
	for _, n := range []int{0, 1001, 3} {
		_, err := seeds.Repeated(t.Context(), "swept.yaml", n)
		if _, ok := errors.AsType[*PartError](err); !ok {
			t.Errorf("%d repeats: got %v", n, err)
		}
	}
}
