package fairness

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
)

// The cell of the project's design: the result of each rule, and its indices.
func TestTheDesignsTable(t *testing.T) {
	for _, c := range []struct {
		name                    string
		wire                    float64
		rates                   []float64 // nil: the optimum's own
		total, jain, normalised string
		limit                   string
	}{
		{"equal rates", 1000, []float64{22.47, 22.47, 22.47, 22.47}, "90", "1.000", "0.61", "airtime"},
		{"C = 1000", 1000, nil, "250", "0.602", "1.000", "airtime"},
		{"not known", 0, nil, "250", "0.602", "1.000", "airtime"},
		{"C = 200", 200, nil, "200", "0.676", "0.943", "both"},
		{"C = 100", 100, nil, "100", "0.984", "0.642", "both"},
	} {
		t.Run(c.name, func(t *testing.T) {
			of := Case{Rates: c.rates, Max: []float64{400, 500, 50, 50}, Wire: c.wire, Alpha: 1}
			if of.Rates == nil {
				of.Rates = []float64{1, 1, 1, 1}
				in, err := Of(of)
				if err != nil {
					t.Fatal(err)
				}
				of.Rates = in.Optimum.Shares
			}
			in, err := Of(of)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range []struct {
				what string
				got  Number
				want string
			}{
				{"total", in.Total, c.total},
				{"Jain's index", in.Jain, c.jain},
				{"normalised index", in.Normalised, c.normalised},
			} {
				_, digits, _ := strings.Cut(f.want, ".")
				if math.Abs(float64(f.got)-number(t, f.want)) > 0.5000001*math.Pow(10, -float64(len(digits))) {
					t.Errorf("%s %.4f, want %s", f.what, f.got, f.want)
				}
			}
			if in.Optimum.LimitedBy.String() != c.limit {
				t.Errorf("limited by %s, want %s", in.Optimum.LimitedBy, c.limit)
			}
			if optimal := c.rates == nil; optimal != (math.Abs(float64(in.Distance)) < 1e-9) {
				t.Errorf("at a distance of %g", in.Distance)
			}
		})
	}
}

func number(t *testing.T, text string) (v float64) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestJSONFieldsStay(t *testing.T) {
	in, err := Of(Case{Rates: []float64{30, 10}, Max: []float64{60, 20}, Alpha: 1})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(in)
	want := `{"terminals":2,"total":40,"jain":0.8,"jain_normalised":1,"printed_form":0.5,"airtime":1,"distance":0,` +
		`"starved_terminals":0,"optimum":{"alpha":1,"shares":[30,10],"total":40,"jain":0.8,"jain_normalised":1,` +
		`"airtime":1,"limited_by":"airtime"}}`
	if err != nil || string(b) != want {
		t.Errorf("%s, %v\nwant %s", b, err, want)
	}
	b, err = json.Marshal(
		Mean([]Indices{in, {Total: 20, Jain: 0.4, Distance: Number(math.Inf(1)), Normalised: Number(math.NaN())}}),
	)
	want = `{"runs":2,"total":30,"jain":0.6000000000000001,"jain_normalised":null,"printed_form":0.25,` +
		`"airtime":0.5,"distance":null}`
	if err != nil || string(b) != want {
		t.Errorf("%s, %v\nwant %s", b, err, want)
	}
}

func TestWhatIsNotKnownIsNotInvented(t *testing.T) {
	in, err := Of(Case{Rates: []float64{30, 10}, Wire: 100, Alpha: 1})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(in)
	want := `{"terminals":2,"total":40,"jain":0.8,"jain_normalised":null,"printed_form":null,` +
		`"airtime":null,"distance":null,"starved_terminals":0,"optimum":null}`
	if err != nil || string(b) != want {
		t.Errorf("%s, %v\nwant %s", b, err, want)
	}
	in, err = Of(Case{Rates: []float64{0, 10}, Max: []float64{10, 10}, Alpha: 1})
	if err != nil || in.Starved != 1 || !math.IsInf(float64(in.Distance), 1) {
		t.Errorf("with a terminal that gets nothing: %+v, %v", in, err)
	}
	if in, err := Of(Case{Rates: []float64{0, 0}, Max: []float64{10, 10}, Alpha: 1}); err != nil ||
		!math.IsNaN(float64(in.Jain)) || in.Starved != 2 {
		t.Errorf("when nobody gets anything: %+v, %v", in, err)
	}
}

func TestWhatIsNoCase(t *testing.T) {
	good := func() Case {
		return Case{Rates: []float64{3, 4}, Max: []float64{10, 10}, Weights: []float64{1, 1}, Alpha: 1}
	}
	for _, c := range []struct {
		change func(*Case)
		says   string
	}{
		{func(c *Case) { c.Rates = nil }, "no rates"},
		{func(c *Case) { c.Rates[1] = -4 }, "terminal 2: found a rate of -4"},
		{func(c *Case) { c.Rates[0] = math.NaN() }, "terminal 1: found a rate of NaN"},
		{
			func(c *Case) {
				c.Names = []string{"phone", "tablet"}
				c.Rates[1] = math.Inf(1)
			},
			"terminal tablet: found a rate of +Inf",
		},
		{func(c *Case) { c.Max = c.Max[:1] }, "2 rates need a maximum each: found 1"},
		{func(c *Case) { c.Max[0] = 0 }, "terminal 1: found a maximum of 0"},
		{func(c *Case) { c.Weights = append(c.Weights, 1) }, "weight each: found 3"},
		{func(c *Case) { c.Weights[0] = 0 }, "terminal 1: found a weight of 0"},
		{func(c *Case) { c.Wire = -1 }, "capacity of -1"},
		{func(c *Case) { c.Wire = math.NaN() }, "capacity of NaN"},
		{func(c *Case) { c.Alpha = -1 }, "alpha -1"},
		{func(c *Case) { c.Alpha = math.NaN() }, "alpha NaN"},
	} {
		one := good()
		c.change(&one)
		if _, err := Of(one); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, want it to say %q", err, c.says)
		}
	}
	if _, err := Of(good()); err != nil {
		t.Error(err)
	}
}
