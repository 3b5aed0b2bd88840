package plan

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"airtide/internal/cell/medium"
	"airtide/internal/units"
)

// Standard is a generation of IEEE 802.11, named by its letters.
type Standard string

type standard struct {
	name Standard
	is   medium.Standard
	// bytes and frames limit the longest A-MPDU (IEEE 802.11-2020 9.4.2.55 and 9.4.2.157, 10.25;
	// 802.11ax-2021 27.3.7, 26.4). They are zero without aggregation.
	bytes  Size
	frames int
	// at24 and at5 report whether the standard exists at 2.4 GHz and at 5 GHz.
	at24, at5 bool
}

var standards = []standard{
	{"b", medium.Std11b, 0, 0, true, false},
	{"g", medium.Std11g, 0, 0, true, false},
	{"a", medium.Std11a, 0, 0, false, true},
	{"n", medium.Std11n, 65535, 64, true, true},
	{"ac", medium.Std11ac, 1048575, 64, false, true},
	{"ax", medium.Std11ax, 6500631, 256, true, true},
}

// maxPPDU is the longest time of a PPDU (IEEE 802.11-2020 aPPDUMaxTime, tables 19-25 and 21-28).
const maxPPDU = Duration(5484e3)

func (*Standard) Choices() []string {
	var names []string
	for _, s := range standards {
		names = append(names, string(s.name))
	}
	return names
}

// facts returns the properties of a known standard.
func (s Standard) facts() standard {
	return standards[max(0, slices.IndexFunc(standards, func(e standard) bool { return e.name == s }))]
}

// Band is the spectrum of the cell.
type Band string

// The bands.
const (
	Band24 Band = "2.4 GHz"
	Band5  Band = "5 GHz"
)

func (*Band) Choices() []string { return []string{string(Band24), string(Band5)} }

// mbps are the rates of b, g and a in Mbit/s. The medium refuses a rate that a standard lacks.
var mbps = []float64{1, 2, 5.5, 6, 9, 11, 12, 18, 24, 36, 48, 54}

// modes returns all PHYs of each standard in the order of medium.AtRate: by number of streams,
// width and index. They are computed once, because a sweep needs them at each point.
var modes = sync.OnceValue(func() map[Standard][]medium.PHY {
	all := map[Standard][]medium.PHY{}
	for _, s := range standards {
		if s.frames == 0 {
			for _, rate := range mbps {
				if p, err := medium.Legacy(s.is, rate); err == nil {
					all[s.name] = append(all[s.name], p)
				}
			}
			continue
		}
		for streams := 1; streams <= 8; streams++ {
			for _, width := range []int{20, 40, 80, 160} {
				for index := 11; index >= 0; index-- {
					for _, guardNs := range []int{800, 400, 1600, 3200} {
						// A mode that the medium refuses does not exist.
						if p, err := medium.MCS(s.is, width, streams, index, guardNs); err == nil {
							all[s.name] = append(all[s.name], p)
						}
					}
				}
			}
		}
	}
	return all
})

// may reports whether the width, streams and guard interval of the radio permit a mode of its
// standard.
func (r *Radio) may(p medium.PHY) bool {
	return r.Standard.facts().frames == 0 ||
		(r.Streams == 0 || r.Streams == p.Streams) && (r.Width == 0 || r.Width == p.WidthMHz) &&
			(r.GuardInterval == 0 || int(r.GuardInterval) == p.GuardNs)
}

// phy returns the PHY with which the radio reaches a rate. The error names the expected value.
func (r *Radio) phy(rate Rate) (medium.PHY, error) {
	for _, p := range modes()[r.Standard] {
		// Files write rates with one decimal place: 433.3 Mbit/s.
		if off := p.RateBps - int64(rate); max(off, -off) <= 60_000 && r.may(p) {
			return p, nil
		}
	}
	var possible []medium.PHY
	for _, p := range modes()[r.Standard] {
		if r.may(p) {
			possible = append(possible, p)
		}
	}
	what := "802.11" + string(r.Standard)
	if r.Width != 0 {
		what += fmt.Sprintf(" at %d MHz", r.Width)
	}
	if r.Streams != 0 {
		what += " with " + units.Count(r.Streams, "stream")
	}
	if r.GuardInterval != 0 {
		what += fmt.Sprintf(" with a guard interval of %s", r.GuardInterval)
	}
	if len(possible) == 0 {
		return medium.PHY{}, fmt.Errorf("an existing mode: there is no %s", what)
	}
	return medium.PHY{}, fmt.Errorf("a PHY rate of %s: %s", what, nearestRates(possible, int64(rate)))
}

// nearestRates lists the rates nearest to the requested rate, or all rates if they are few.
func nearestRates(of []medium.PHY, asked int64) string {
	var rates []int64
	for _, p := range of {
		rates = append(rates, p.RateBps)
	}
	slices.Sort(rates)
	rates = slices.Compact(rates)
	prefix := ""
	if len(rates) > 12 {
		i, _ := slices.BinarySearch(rates, asked)
		rates = rates[max(0, min(i, len(rates)-2)-2):min(len(rates), i+2)]
		prefix = "the nearest are "
	}
	names := make([]string, len(rates))
	for i, r := range rates {
		names[i] = printed(r)
	}
	return prefix + strings.Join(names, ", ") + " Mbit/s"
}

// printed returns a PHY's rate in Mbit/s with one decimal place, as data sheets do.
func printed(rateBps int64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(rateBps)/1e6), ".0")
}
