package plan

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// unit is a name and how many of the base unit it holds.
type unit struct {
	name string
	size float64
}

var (
	rateUnits = []unit{{"bit/s", 1}, {"kbit/s", 1e3}, {"Mbit/s", 1e6}, {"Gbit/s", 1e9}}
	timeUnits = []unit{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"min", 60e9}, {"h", 3600e9}}
	byteUnits = []unit{{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}}
)

// number is how quantities write theirs. There are no signs: no quantity of an experiment is negative.
const number = `[0-9]+(\.[0-9]+)?`

var quantityRegexp = regexp.MustCompile(`^(` + number + `) *([^0-9. ].*)?$`)

var errQuantity = errors.New("a number and a unit")

// measure reads a number with one of the units, into whole base units. Zero needs no unit.
func measure(text string, units []unit) (int64, error) {
	m := quantityRegexp.FindStringSubmatch(text)
	if m == nil {
		return 0, errQuantity
	}
	value, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, err
	}
	if value == 0 && m[3] == "" {
		return 0, nil
	}
	for _, u := range units {
		if u.name == m[3] {
			if value *= u.size; value >= math.MaxInt64 {
				return 0, errQuantity
			}
			return int64(math.Round(value)), nil
		}
	}
	return 0, errQuantity
}

// show writes a value in the greatest unit that leaves it a short number.
func show(value int64, units []unit) string {
	best := units[0]
	for _, u := range units {
		if float64(value) >= u.size && u.size > best.size {
			best = u
		}
	}
	return strconv.FormatFloat(float64(value)/best.size, 'f', -1, 64) + " " + best.name
}

// pattern is a regular expression for JSON schema.
func pattern(units []unit) string {
	names := make([]string, len(units))
	for i, u := range units {
		names[i] = u.name
	}
	return `^(0|` + number + ` *(` + strings.Join(names, "|") + `))$`
}

// Rate in bit/s, of a wire, a PHY or an application.
type Rate int64

const expectedRate = "a rate in bit/s, kbit/s, Mbit/s or Gbit/s, such as 54 Mbit/s"

func (r *Rate) parse(text string) error {
	v, err := measure(text, rateUnits)
	if err != nil {
		return errors.New(expectedRate)
	}
	*r = Rate(v)
	return nil
}

func (r Rate) String() string { return show(int64(r), rateUnits) }

// MarshalText writes the rate as a file would.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Duration of time.
type Duration time.Duration

// maxDuration bounds times, so that their sums over all runs do not overflow.
const maxDuration = 7 * 24 * time.Hour

const expectedDuration = "a time in ns, us, ms, s, min or h, of at most a week, such as 20 ms"

func (t *Duration) parse(text string) error {
	v, err := measure(text, timeUnits)
	if err != nil || time.Duration(v) > maxDuration {
		return errors.New(expectedDuration)
	}
	*t = Duration(v)
	return nil
}

func (t Duration) String() string {
	if t == 0 {
		return "0 s"
	}
	return show(int64(t), timeUnits[:4])
}

// MarshalText writes the time as a file would.
func (t Duration) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Size in bytes.
type Size int64

const expectedSize = "a size in B, kB, MB, GB, KiB, MiB or GiB, such as 64 kB"

func (s *Size) parse(text string) error {
	v, err := measure(text, byteUnits)
	if err != nil {
		return errors.New(expectedSize)
	}
	*s = Size(v)
	return nil
}

func (s Size) String() string { return show(int64(s), byteUnits[:4]) }

// MarshalText writes the size as a file would.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Limit of a queue, in packets or in bytes; the other is zero.
type Limit struct {
	Packets int
	Bytes   Size
}

const expectedLimit = "a limit in packets or bytes, such as 1000 packets or 256 kB"

// maxPackets is more than any queue of an experiment should need: packets that wait take memory.
const maxPackets = 1_000_000

func (l *Limit) parse(text string) error {
	if v, err := measure(text, []unit{{"packets", 1}, {"packet", 1}}); err == nil && v >= 1 && v <= maxPackets {
		*l = Limit{Packets: int(v)}
		return nil
	}
	if v, err := measure(text, byteUnits); err == nil && v >= 1 && v <= maxPackets*1500 {
		*l = Limit{Bytes: Size(v)}
		return nil
	}
	return errors.New(expectedLimit)
}

func (l Limit) String() string {
	if l.Bytes > 0 {
		return l.Bytes.String()
	}
	return fmt.Sprintf("%d packets", l.Packets)
}

// MarshalText writes the limit as a file would.
func (l Limit) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// Share of a whole, 0 to 1, written as 0.002 or 0.2 %.
type Share float64

const expectedShare = "a share from 0 to 1, or in per cent, such as 0.002 or 0.2 %"

func (s *Share) parse(text string) error {
	trimmed, percent := strings.CutSuffix(text, "%")
	trimmed = strings.TrimSpace(trimmed)
	v, err := strconv.ParseFloat(trimmed, 64)
	if percent {
		v /= 100
	}
	if err != nil || !quantityRegexp.MatchString(trimmed) || v < 0 || v > 1 {
		return errors.New(expectedShare)
	}
	*s = Share(v)
	return nil
}

func (s Share) String() string { return strconv.FormatFloat(float64(s)*100, 'g', 6, 64) + " %" }

// MarshalText writes the share as a file would.
func (s Share) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// numberOf is a text as a number in base units (bit/s, seconds, bytes, packets, 1), NaN when it is no quantity. Sweeps are
// drawn and ordered by it.
func numberOf(text string) float64 {
	if v, err := strconv.ParseFloat(text, 64); err == nil && quantityRegexp.MatchString(text) {
		return v
	}
	if v, err := measure(text, timeUnits); err == nil {
		return time.Duration(v).Seconds()
	}
	var l Limit
	if l.parse(text) == nil && l.Packets > 0 {
		return float64(l.Packets)
	}
	for _, units := range [][]unit{rateUnits, byteUnits} {
		if v, err := measure(text, units); err == nil {
			return float64(v)
		}
	}
	var s Share
	if s.parse(text) == nil {
		return float64(s)
	}
	return math.NaN()
}
