//go:build kernel

package setup

import (
	"slices"
	"strings"
	"testing"
	"time"

	"airtide/internal/kernel/congestion"
	"airtide/internal/lab/plan"
	"airtide/test/need"
	"airtide/test/testnet"
)

// wanted returns a setup whose machines and flow use congestion controls of airtide.
func wanted() *plan.Setup {
	slow := congestion.CubicRTT.Defaults()
	slow.RTTRefUs = 1_000_000
	return &plan.Setup{
		CongestionControls: []plan.CongestionSetup{
			{Name: "slow", Kind: congestion.CubicRTT, Parameters: slow},
			{
				Name: "held", Kind: congestion.CubicBound, Parameters: congestion.CubicBound.Defaults(),
				Bounds: congestion.Bounds{Upper: 63},
			},
			{Name: "cubic_plain", Kind: congestion.CubicPlain, Parameters: congestion.CubicPlain.Defaults()},
		},
		Terminals: []plan.TerminalSetup{
			{Name: "a", Stack: plan.Stack{Congestion: "slow"}}, {Name: "b", Stack: plan.Stack{Congestion: "cubic"}},
		},
		Servers: []plan.ServerSetup{{Name: "s", Stack: plan.Stack{Congestion: "cubic_plain"}}},
		Flows:   []plan.FlowSetup{{Name: "f", Flow: plan.Flow{Congestion: "slow"}}},
	}
}

func TestEachLabLoadsItsOwnCongestionControls(t *testing.T) {
	need.Root(t)
	first, err := LoadCongestion(wanted())
	if err != nil {
		t.Fatal(err)
	}
	second, err := LoadCongestion(wanted())
	if err != nil {
		t.Fatalf("a second lab: %v", err)
	}
	for _, c := range []*CongestionControls{first, second} {
		for name, kind := range map[string]congestion.Kind{
			"slow": congestion.CubicRTT, "cubic_plain": congestion.CubicPlain, "held": congestion.CubicBound,
		} {
			var e *congestion.Entry
			testnet.Eventually(t, 10*time.Second, c.Loaded[name]+" to be listed", func() (ok bool) {
				e, err = congestion.Find("", c.Loaded[name]) // another process may be loading something this moment
				return err == nil
			})
			if e.Kind != kind || e.Pin != "" || name == "slow" && e.Parameters.RTTRefUs != 1_000_000 ||
				!strings.HasPrefix(e.Name, string(kind)+"_") {
				t.Errorf("%s is %+v", name, e)
			}
		}
	}
	b, err := congestion.OpenBounds(first.Loaded["held"])
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if bounds, err := b.Get(congestion.All); err != nil || bounds.Upper != 63 {
		t.Errorf("bounds: got %+v, %v", bounds, err)
	}
	s := first.In(wanted())
	got := []string{
		s.Terminals[0].Stack.Congestion, s.Terminals[1].Stack.Congestion, s.Servers[0].Stack.Congestion,
		s.Flows[0].Flow.Congestion,
	}
	if want := []string{
		first.Loaded["slow"], "cubic", first.Loaded["cubic_plain"], first.Loaded["slow"],
	}; !slices.Equal(got, want) {
		t.Errorf("the setup has %q, want %q", got, want)
	}
	for _, c := range []*CongestionControls{first, second} {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	testnet.Eventually(t, 10*time.Second, "all of them to be gone", func() bool {
		available, err := congestion.Available()
		return err == nil && !slices.ContainsFunc(available, func(name string) bool {
			return isOf(name, first, second)
		})
	})
}

func isOf(name string, all ...*CongestionControls) bool {
	for _, c := range all {
		for _, loaded := range c.Loaded {
			if loaded == name {
				return true
			}
		}
	}
	return false
}
