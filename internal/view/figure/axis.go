package figure

import (
	"time"

	"airtide/internal/units"
)

// AxisKind is the scale of an axis.
type AxisKind string

// Kinds of axes.
const (
	Linear      AxisKind = "linear"
	Log         AxisKind = "log"
	Time        AxisKind = "time"          // nanoseconds since zero; only as x
	Clock       AxisKind = "clock"         // nanoseconds since the wall-clock time Zero; only as x
	Names       AxisKind = "names"         // the values 0, 1, 2, ... have names
	LogWithZero AxisKind = "log-with-zero" // Log, with zero behind a gap; only as x, with ticks
)

// Axis is the x axis of a figure, or a vertical axis of a panel. The empty kind is Linear.
type Axis struct {
	Label string
	Unit  units.Scale
	Kind  AxisKind
	// Min and Max bound the axis; without them the data do. A Time or Clock axis must have both.
	Min, Max *float64
	Names    []string  // names of the values, for an axis of names or states
	Ticks    []float64 // values that have a tick; nil for round values
	Floating bool      // need not begin at zero
	Zero     time.Time // wall-clock time of zero
}
