package allocate

import (
	"errors"
	"fmt"
	"math"
)

// Values of alpha that have names.
const (
	// TotalFirst maximises the sum of the rates, weighted.
	TotalFirst = 0.0
	// Proportional is proportional fairness.
	Proportional = 1.0
)

var (
	// FairnessFirst is max-min fairness: no terminal can get more unless another terminal with at
	// most the same rate gets less.
	FairnessFirst = math.Inf(1)
	// Unlimited is the demand of a greedy terminal and the capacity of an unknown wire.
	Unlimited = math.Inf(1)
)

// Terminal is a terminal that wants a share.
type Terminal struct {
	// Name is for messages. Without one they name the place in the list, counted from 1.
	Name string
	// Max is the rate that it reaches alone: M.
	Max float64
	// Weight is the factor of the terminal's utility; 0 means 1.
	Weight float64
	// Demand is the rate beyond which the terminal has nothing to send, or Unlimited. Zero means
	// that it sends nothing.
	Demand float64
}

// Limits are the limits that the terminals share.
type Limits struct {
	// Airtime is the share of time to allocate; 0 means 1.
	Airtime float64
	// Wire is the capacity behind the access point in the unit of the rates, or Unlimited if it is
	// unknown.
	Wire float64
}

// check returns an error for an invalid problem.
func check(alpha float64, l Limits, terminals []Terminal) error {
	switch {
	case len(terminals) == 0:
		return errors.New("allocating: there are no terminals")
	case !(alpha >= 0):
		return fmt.Errorf("allocating: found alpha %g, expected 0 or more", alpha)
	case !(l.Airtime >= 0) || math.IsInf(l.Airtime, 1):
		return fmt.Errorf("allocating: found an airtime of %g, expected a share such as 1", l.Airtime)
	case !(l.Wire > 0):
		return fmt.Errorf(
			"allocating: found a wire of %g, expected a capacity above 0, or infinity when it is not known", l.Wire,
		)
	}
	for i, t := range terminals {
		var what string
		switch {
		case !(t.Max > 0) || math.IsInf(t.Max, 1) || math.IsInf(1/t.Max, 1):
			what = fmt.Sprintf("a rate of %g alone, expected one above 0", t.Max)
		case !(t.Weight >= 0) || math.IsInf(t.Weight, 1):
			what = fmt.Sprintf("a weight of %g, expected one above 0", t.Weight)
		case !(t.Demand >= 0):
			what = fmt.Sprintf("a demand of %g, expected 0 or more", t.Demand)
		default:
			continue
		}
		name := t.Name
		if name == "" {
			name = fmt.Sprint(i + 1)
		}
		return fmt.Errorf("allocating: terminal %s: found %s", name, what)
	}
	return nil
}
