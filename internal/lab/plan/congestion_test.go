package plan

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	congestion "airtide/internal/kernel/congestion/kind"
	"airtide/internal/lab/document"
)

func TestARunLoadsTheCongestionControlsThatItUses(t *testing.T) {
	p := read(t, wholeFile)
	fair := congestion.CubicRTT.Defaults()
	fair.RTTRefUs = 200_000
	fair.Beta = 0.75
	fair.NoHyStart = true
	want := []CongestionSetup{
		// a kind by its own name
		{"compound", congestion.Compound, congestion.Compound.Defaults(), congestion.Bounds{}},
		{"fair", congestion.CubicRTT, fair, congestion.Bounds{}},
	}
	if got := p.Points[0].Setup.CongestionControls; !slices.Equal(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	// At the other points of the system all terminals have cubic, which is the kernel's.
	if got := p.Points[1].Setup.CongestionControls; !slices.Equal(got, want[:1]) {
		t.Errorf("%+v\nwant %+v", got, want[:1])
	}
}

func TestParametersOfACongestionControlAreSwept(t *testing.T) {
	file := strings.Replace(minimal, "{link: ethernet}", "{link: ethernet, congestion: fair}", 1) +
		"congestion_controls: {fair: {kind: cubic_rtt}}\nsweep:\n  - {over: congestion_controls.fair.rtt_ref, " +
		"values: [50 ms, 1 s]}\n" +
		"  - {over: congestion_controls.fair.kind, values: [cubic_rttk, cubic_rtt]}\n"
	p := read(t, file)
	var got []string
	for _, point := range p.Points {
		c := point.Setup.CongestionControls[0]
		got = append(got, point.ID+" "+string(c.Kind)+" "+c.Parameters.String())
	}
	want := []string{
		"rtt_ref=50ms,kind=cubic_rttk cubic_rttk rtt-ref=50ms beta=0.7002",
		"rtt_ref=50ms,kind=cubic_rtt cubic_rtt rtt-ref=50ms beta=0.7002",
		"rtt_ref=1s,kind=cubic_rttk cubic_rttk rtt-ref=1000ms beta=0.7002",
		"rtt_ref=1s,kind=cubic_rtt cubic_rtt rtt-ref=1000ms beta=0.7002",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

func TestTheWindowOfACubicBoundHasBounds(t *testing.T) {
	file := strings.Replace(
		minimal, "{link: ethernet}", "{link: ethernet, congestion: held}", 1,
	) + "congestion_controls: {held: {kind: cubic_bound, lower: 4, upper: 63}}\n"
	want := []CongestionSetup{
		{"held", congestion.CubicBound, congestion.CubicBound.Defaults(), congestion.Bounds{Lower: 4, Upper: 63}},
	}
	if got := read(t, file).Points[0].Setup.CongestionControls; !slices.Equal(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

func TestEveryParameterHasAField(t *testing.T) {
	for _, k := range congestion.All() {
		for _, name := range k.Names() {
			if !slices.Contains(document.FieldNames(reflect.TypeFor[CongestionControl]()), parameterFields[name]) {
				t.Errorf("the parameter %s of %s has no field", name, k)
			}
		}
	}
}
