package plot

import (
	"fmt"
	"slices"
	"strings"

	"airtide/internal/diagnose"
	"airtide/internal/tcp"
	"airtide/internal/view/figure"
)

// Kind names a figure.
type Kind string

// The figures.
const (
	Cwnd     Kind = "cwnd"     // congestion state and error codes left, cwnd right
	RTT      Kind = "rtt"      // latest, smoothed and minimum round-trip time
	Queues   Kind = "queues"   // socket queues of both directions and the device queue, with their limits
	Rates    Kind = "rates"    // goodput, delivery rate, pacing rate
	Windows  Kind = "windows"  // cwnd, in flight and send window in bytes
	Cubic    Kind = "cubic"    // K over time, and cwnd with the window that CUBIC aims at and Wmax
	BBR      Kind = "bbr"      // bandwidth and RTT estimates, mode and gain
	Sequence Kind = "sequence" // sent, acknowledged and window edge, with retransmissions by cause and SACK blocks
	Limits   Kind = "limits"   // limit of the rate over time, with cwnd and RTT below
	Radio    Kind = "radio"    // PHY rates and retries of the radio, with goodput and RTT
	Overview Kind = "overview" // cwnd, rtt, rates and queues on one time axis
)

// definition is the data of one kind of figure, and its panels.
type definition struct {
	doc      string
	fields   []tcp.Field // fields of samples, with the derived ones of derived.go
	limits   bool        // needs the limits of the rate
	segments bool        // collects retransmitted segments and SACK blocks
	heightCm float64     // default height
	panels   func(*view) []figure.Panel
	note     func(*view) string // a word about unusual values, or nil
	together []quantity         // quantities with one panel each for several flows
}

// kinds is in the order in which a list of figures is shown.
var kinds = []Kind{Cwnd, RTT, Queues, Rates, Windows, Cubic, BBR, Sequence, Limits, Radio, Overview}

var definitions = map[Kind]definition{
	Cwnd:     cwndFigure,
	RTT:      rttFigure,
	Queues:   queuesFigure,
	Rates:    ratesFigure,
	Windows:  windowsFigure,
	Cubic:    cubicFigure,
	BBR:      bbrFigure,
	Sequence: sequenceFigure,
	Limits:   limitsFigure,
	Radio:    radioFigure,
	Overview: overviewFigure,
}

// Kinds lists all figures.
func Kinds() []Kind { return slices.Clone(kinds) }

// ParseKind checks a figure's name.
func ParseKind(name string) (Kind, error) {
	if _, ok := definitions[Kind(name)]; ok {
		return Kind(name), nil
	}
	names := make([]string, len(kinds))
	for i, k := range kinds {
		names[i] = string(k)
	}
	return "", fmt.Errorf("unknown figure %q: want one of %s", name, strings.Join(names, ", "))
}

// Doc is one line about the figure, for a help text.
func (k Kind) Doc() string { return definitions[k].doc }

// Fields lists the stored fields that the figure reads, so that a reader can skip all others.
func (k Kind) Fields() []tcp.Field {
	fields := []tcp.Field{tcp.AckedBytes, tcp.ReceivedBytes} // these give the volume of flows
	for _, f := range definitions[k].fields {
		fields = append(fields, sourcesOf(f)...)
	}
	if definitions[k].limits {
		fields = append(fields, diagnose.Fields()...)
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}
