package fairness

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"airtide/internal/share/allocate"
)

// Case is the input of Of. All rates have the same unit, which can be any.
type Case struct {
	// Names are for messages, and may be nil.
	Names []string
	// Rates are the rates of the terminals.
	Rates []float64
	// Max are the rates that the terminals reach alone; nil if they are unknown. Without them there
	// is no optimum and no index that divides by Max.
	Max []float64
	// Weights are the weights of the optimum; nil means that all are 1.
	Weights []float64
	// Wire is the capacity behind the access point; 0 if it is unknown and therefore no limit.
	Wire float64
	// Alpha is the parameter of the optimum's alpha-fairness, such as allocate.Proportional.
	Alpha float64
}

// Of computes the indices of a case. The error names the invalid input.
func Of(c Case) (Indices, error) {
	if err := c.check(); err != nil {
		return Indices{}, err
	}
	in := Indices{
		Terminals: len(c.Rates), Total: Number(floats.Sum(c.Rates)), Jain: Number(Jain(c.Rates)),
		Normalised: Number(NormalisedJain(c.Rates, c.Max)), Printed: Number(PrintedForm(c.Rates, c.Max)),
		Airtime: Number(Airtime(c.Rates, c.Max)), Distance: Number(math.NaN()),
		Starved: floats.Count(func(x float64) bool { return x == 0 }, c.Rates),
	}
	if c.Max == nil {
		return in, nil
	}
	o, err := c.optimum()
	if err != nil {
		return Indices{}, err
	}
	in.Distance = Number(Distance(c.Alpha, c.Rates, o.Shares, c.Weights))
	in.Optimum = o
	return in, nil
}

func (c *Case) optimum() (*Optimum, error) {
	terminals := make([]allocate.Terminal, len(c.Rates))
	for i := range terminals {
		terminals[i] = allocate.Terminal{Name: c.name(i), Max: c.Max[i], Demand: allocate.Unlimited}
		if c.Weights != nil {
			terminals[i].Weight = c.Weights[i]
		}
	}
	limits := allocate.Limits{Wire: c.Wire}
	if c.Wire == 0 {
		limits.Wire = allocate.Unlimited
	}
	r, err := allocate.Solve(c.Alpha, limits, terminals)
	if err != nil {
		return nil, fmt.Errorf("finding the optimum: %w", err)
	}
	return &Optimum{
		Alpha: Number(c.Alpha), Shares: r.Shares, Total: Number(r.Total),
		Jain: Number(Jain(r.Shares)), Normalised: Number(NormalisedJain(r.Shares, c.Max)),
		Airtime: Number(r.Airtime), LimitedBy: r.Binds,
	}, nil
}

func (c *Case) name(i int) string {
	if i < len(c.Names) && c.Names[i] != "" {
		return c.Names[i]
	}
	return fmt.Sprint(i + 1)
}

// check returns an error that names the first invalid input.
func (c *Case) check() error {
	switch {
	case len(c.Rates) == 0:
		return errors.New("there are no rates to judge")
	case !(c.Wire >= 0):
		return fmt.Errorf("found a capacity of %g, expected one above 0", c.Wire)
	case !(c.Alpha >= 0):
		return fmt.Errorf("found alpha %g, expected 0 or more", c.Alpha)
	}
	for _, of := range []struct {
		what   string
		values []float64
		zero   bool // is allowed
	}{{"rate", c.Rates, true}, {"maximum", c.Max, false}, {"weight", c.Weights, false}} {
		if of.values == nil {
			continue
		}
		if len(of.values) != len(c.Rates) {
			return fmt.Errorf("%d rates need a %s each: found %d", len(c.Rates), of.what, len(of.values))
		}
		for i, v := range of.values {
			if !(v >= 0) || math.IsInf(v, 1) || v == 0 && !of.zero {
				return fmt.Errorf("terminal %s: found a %s of %g, expected a number above 0", c.name(i), of.what, v)
			}
		}
	}
	return nil
}
