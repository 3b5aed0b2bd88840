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
	// FairnessFirst is max-min fairness: nobody can get more without somebody who has no more
	// getting less.
	FairnessFirst = math.Inf(1)
	// Unlimited is the demand of a terminal that takes what it gets, and the capacity of a wire
	// that is not known.
	Unlimited = math.Inf(1)
)

// Terminal is one that wants a share.
type Terminal struct {
	// Name is for messages. Without one they name the place in the list, from 1 on.
	Name string
	// Max is the rate that it reaches alone: M.
	Max float64
	// Weight is what its utility counts for; 0 stands for 1.
	Weight float64
	// Demand is the rate beyond which it has nothing to send, or Unlimited. Zero is a terminal that
	// sends nothing.
	Demand float64
}

// Limits are what the terminals share.
type Limits struct {
	// Airtime is the share of time to be given out; 0 stands for 1, all of it.
	Airtime float64
	// Wire is the capacity behind the access point in the unit of the rates, or Unlimited when it
	// is not known.
	Wire float64
}

// check says what is wrong with a problem.
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
