package document

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"airtide/internal/units"
)

// Quantities in a file.
type (
	Rate     = units.Rate
	Duration = units.Duration
	Size     = units.Size
	Share    = units.Share
)

// maxDuration limits durations, so that their sums over all runs do not overflow.
const maxDuration = Duration(7 * 24 * time.Hour)

const expectedDuration = "a time in ns, us, ms, s, min or h, of at most a week, such as 20 ms"

// Limit is the limit of a queue in packets or in bytes; the other field is zero.
type Limit struct {
	Packets int
	Bytes   Size
}

const expectedLimit = "a limit in packets or bytes, such as 1000 packets or 256 kB"

// maxPackets limits a queue, because waiting packets need memory. No experiment should need a
// longer queue.
const maxPackets = 1_000_000

// PacketsPattern matches a limit in packets.
const PacketsPattern = `^(` + units.NumberPattern + `) *packets?$`

var packetsRegexp = regexp.MustCompile(PacketsPattern)

// UnmarshalText reads a limit such as 1000 packets or 256 kB.
func (l *Limit) UnmarshalText(text []byte) error {
	if m := packetsRegexp.FindSubmatch(text); m != nil {
		v, err := strconv.ParseFloat(string(m[1]), 64)
		if packets := math.Round(v); err == nil && packets >= 1 && packets <= maxPackets {
			*l = Limit{Packets: int(packets)}
			return nil
		}
	}
	if size, err := units.ParseSize(string(text)); err == nil && size >= 1 && size <= maxPackets*1500 {
		*l = Limit{Bytes: size}
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

// MarshalText writes the limit as in a file.
func (l Limit) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// NumberOf returns a text's value in base units (bit/s, seconds, bytes, packets, 1); NaN if the
// text is no quantity. Sweeps are drawn and sorted by it.
func NumberOf(text string) float64 {
	q, ok := units.ParseQuantity(text)
	if !ok || strings.HasPrefix(q.Unit, "packet") && q.Base > maxPackets {
		return math.NaN()
	}
	return q.Base
}
