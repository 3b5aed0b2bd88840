package plan

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Run is one execution of one point.
type Run struct {
	// ID is a valid folder name. It does not change when values or repeats are added to the
	// experiment.
	ID string `json:"id"`
	// Point is the index of the point in the plan.
	Point  int    `json:"point"`
	Repeat int    `json:"repeat"` // counts from 1
	Seed   uint64 `json:"seed"`
}

// runs lists the runs in rounds: all points once, then all points again. So a slow drift
// (temperature, load) affects all points alike. Each round has its own order, drawn from the seed
// (randomised blocks), so that periodic disturbances do not always meet the same point.
func runs(e *Experiment, points []Point) []Run {
	var all []Run
	for repeat := 1; repeat <= e.Repeats; repeat++ {
		base := e.Seed
		if len(e.Seeds) > 0 {
			base = e.Seeds[repeat-1]
		}
		order := rand.New(rand.NewPCG(base, uint64(repeat))).Perm(len(points))
		for _, i := range order {
			id := fmt.Sprintf("r=%d", repeat)
			if points[i].ID != "" {
				id = points[i].ID + "," + id
			}
			of := id
			if e.SameSeeds {
				of = fmt.Sprintf("r=%d", repeat)
			}
			all = append(all, Run{ID: id, Point: i, Repeat: repeat, Seed: runSeed(base, of)})
		}
	}
	return all
}

// runSeed derives a run's seed from a text. Runs with the same text share their random numbers.
func runSeed(base uint64, of string) uint64 {
	h := sha256.Sum256(binary.LittleEndian.AppendUint64([]byte(of), base))
	return binary.LittleEndian.Uint64(h[:])
}

// maxID keeps the names of folders below the limits of file systems.
const maxID = 150

// pointID writes settings as a name such as rtt=16ms,protocol=tcp.
func pointID(settings []Setting) string {
	parts := make([]string, len(settings))
	for i, s := range settings {
		parts[i] = s.Parameter + "=" + slug(s.Value.Text)
	}
	id := strings.Join(parts, ",")
	if len(id) > maxID {
		id = id[:maxID] + "~" + shortHash(settings)
	}
	return id
}

// slug keeps the characters of a value that are valid in a folder's name and need no shell quotes.
func slug(value string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_', r == '%':
			return r
		case r == ' ', r == '/':
			return -1 // 54 Mbit/s becomes 54Mbits
		}
		return '-'
	}, value)
}

// shortHash distinguishes settings whose names are equal or too long.
func shortHash(settings []Setting) string {
	h := sha256.New()
	for _, s := range settings {
		fmt.Fprintf(h, "%s=%s\x00", s.Parameter, s.Value.Text)
	}
	return hex.EncodeToString(h.Sum(nil)[:4])
}

// Overhead is a first estimate of a run's time in addition to its duration: namespaces, the cell
// and servers start and stop. The measured time of the experiment's own runs replaces it.
const Overhead = 3 * time.Second

// MaxAtOnce is the limit of the number of simultaneous runs.
const MaxAtOnce = 64

// MaxRuns limits the runs of an experiment. It is far above what a machine can run in a month.
const MaxRuns = 100_000

// Time returns the expected time of all runs, some of them at a time.
func (p *Plan) Time(overhead time.Duration) time.Duration {
	return p.Estimate(p.Runs, p.Experiment.AtOnce, overhead)
}

// Estimate returns the expected time of some runs, of which a number runs at a time: each begins
// when another one ends.
func (p *Plan) Estimate(of []Run, atOnce int, overhead time.Duration) time.Duration {
	ends := make([]time.Duration, max(1, atOnce))
	for _, r := range of {
		first := slices.Index(ends, slices.Min(ends))
		ends[first] += time.Duration(p.Points[r.Point].Setup.Duration) + overhead
	}
	return slices.Max(ends)
}
