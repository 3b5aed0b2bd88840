package units

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Duration is a time in nanoseconds.
type Duration time.Duration

const expectedDuration = "a time in ns, us, ms, s, min or h, such as 20 ms"

// ParseDuration reads a duration such as 20 ms, 1.5 s or 1m30s.
func ParseDuration(text string) (Duration, error) {
	v, err := times.parse(text, expectedDuration)
	if err == nil {
		return Duration(v), nil
	}
	sum := 0.0
	for rest := text; ; {
		m := partRegexp.FindStringSubmatch(rest)
		if m == nil {
			return 0, err
		}
		number, parseErr := strconv.ParseFloat(m[1], 64)
		u, ok := times.lookUp(m[4])
		if parseErr != nil || !ok {
			return 0, err
		}
		sum += number * u.size
		rest = strings.TrimRight(rest[len(m[0]):], " ")
		if rest == "" {
			break
		}
	}
	if sum >= math.MaxInt64 {
		return 0, err
	}
	return Duration(math.Round(sum)), nil
}

// String is the exact duration in ns, us, ms or s: 20 ms.
func (d Duration) String() string {
	if d == 0 {
		return "0 s"
	}
	return times.print(int64(d))
}

// Seconds is the duration in seconds.
func (d Duration) Seconds() float64 { return time.Duration(d).Seconds() }

// MarshalText writes String.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads the grammar of ParseDuration.
func (d *Duration) UnmarshalText(text []byte) error { return set(d, string(text), ParseDuration) }
