package units

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// NumberPattern is a regular expression of a number.
const NumberPattern = `[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?`

// unit is a name and its size in base units.
type unit struct {
	name string
	size float64
}

// table is the units of one quantity. The canonical units come first, in ascending size.
type table struct {
	units     []unit
	canonical int
	// informal spellings are not read, but lead to a suggestion. The key is in lower case.
	informal map[string]string
}

var (
	numberRegexp   = regexp.MustCompile(`^` + NumberPattern + `$`)
	quantityRegexp = regexp.MustCompile(`^(` + NumberPattern + `) *([^0-9. ].*)?$`)
	partRegexp     = regexp.MustCompile(`^ *(` + NumberPattern + `) *([^0-9. ]+)`)
)

var (
	rates = table{
		[]unit{
			{"bit/s", 1},
			{"kbit/s", 1e3},
			{"Mbit/s", 1e6},
			{"Gbit/s", 1e9},
			{"Tbit/s", 1e12},
			{"bit", 1},
			{"kbit", 1e3},
			{"Mbit", 1e6},
			{"Gbit", 1e9},
			{"Tbit", 1e12},
			{"bps", 1},
			{"kbps", 1e3},
			{"Mbps", 1e6},
			{"Gbps", 1e9},
			{"Tbps", 1e12},
			{"k", 1e3},
			{"M", 1e6},
			{"G", 1e9},
			{"T", 1e12},
		},
		5,
		map[string]string{
			"kb/s": "kbit/s", "mb/s": "Mbit/s", "gb/s": "Gbit/s",
			"kbits/s": "kbit/s", "mbits/s": "Mbit/s", "gbits/s": "Gbit/s",
		},
	}
	sizes = table{
		[]unit{{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}},
		4,
		map[string]string{
			"byte": "B", "bytes": "B", "k": "kB", "m": "MB", "g": "GB", "ki": "KiB", "mi": "MiB", "gi": "GiB",
		},
	}
	binarySizes = table{
		units:     []unit{{"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}},
		canonical: 4,
	}
	times = table{
		[]unit{
			{"ns", 1},
			{"us", 1e3},
			{"ms", 1e6},
			{"s", 1e9},
			{"min", 60e9},
			{"h", 3600e9},
			{"m", 60e9},
			{"µs", 1e3},
			{"μs", 1e3},
		},
		4,
		map[string]string{
			"msec": "ms", "usec": "us", "nsec": "ns", "sec": "s", "secs": "s", "second": "s", "seconds": "s",
			"mins": "min", "minute": "min", "minutes": "min", "hr": "h", "hour": "h", "hours": "h",
		},
	}
)

// Patterns for a JSON schema. They match all texts of their quantity.
var (
	RatePattern     = rates.pattern()
	SizePattern     = sizes.pattern()
	DurationPattern = `^(0|(` + NumberPattern + ` *(` + times.names() + `) *)+)$`
)

func (t *table) names() string { return strings.Join(t.list(), "|") }

func (t *table) pattern() string { return `^(0|` + NumberPattern + ` *(` + t.names() + `))$` }

// lookUp returns the unit of a name.
func (t *table) lookUp(name string) (unit, bool) {
	for _, u := range t.units {
		if u.name == name {
			return u, true
		}
	}
	return unit{}, false
}

// guess returns the canonical unit that a wrong spelling most likely means.
func (t *table) guess(name string) (unit, bool) {
	lower := strings.ToLower(name)
	if meant, ok := t.informal[lower]; ok {
		return t.lookUp(meant)
	}
	for _, u := range t.units {
		if strings.ToLower(u.name) != lower {
			continue
		}
		for _, c := range t.units[:t.canonical] {
			if c.size == u.size {
				return c, true
			}
		}
		return u, true
	}
	return unit{}, false
}

// parse reads a number with one of the units, rounded to whole base units. Zero needs no unit.
// The unit found has no name if there is no number and unit.
func (t *table) parse(text, expected string) (int64, error) {
	m := quantityRegexp.FindStringSubmatch(text)
	if m == nil {
		return 0, &SyntaxError{Text: text, Expected: expected}
	}
	number := m[1]
	name := strings.TrimRight(m[4], " ")
	value, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, &SyntaxError{Text: text, Expected: expected}
	}
	if value == 0 && name == "" {
		return 0, nil
	}
	u, ok := t.lookUp(name)
	if !ok {
		failure := &SyntaxError{Text: text, Expected: expected}
		if u, ok := t.guess(name); ok {
			failure.Meant = number + " " + u.name
		}
		return 0, failure
	}
	value *= u.size
	if value >= math.MaxInt64 {
		return 0, &SyntaxError{Text: text, Expected: expected}
	}
	return int64(math.Round(value)), nil
}

// print writes a value exactly, in the greatest unit up to it.
func (t *table) print(value int64) string {
	best := t.units[0]
	for _, u := range t.units[:t.canonical] {
		if float64(value) >= u.size {
			best = u
		}
	}
	return strconv.FormatFloat(float64(value)/best.size, 'f', -1, 64) + " " + best.name
}

// ParseNumber reads a number of the grammar, without a unit.
func ParseNumber(text string) (float64, bool) {
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && numberRegexp.MatchString(text)
}

// SyntaxError means that a text is not the expected quantity.
type SyntaxError struct {
	Text     string
	Expected string
	// Meant is a correct text that the user may have meant, empty without a guess.
	Meant string
}

// Want is the expectation, with the guess if there is one.
func (e *SyntaxError) Want() string {
	if e.Meant == "" {
		return e.Expected
	}
	return e.Expected + " (did you mean " + e.Meant + "?)"
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%q: want %s", e.Text, e.Want()) }
