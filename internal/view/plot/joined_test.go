package plot

import (
	"slices"
	"testing"

	"airtide/internal/packets/join"
)

func TestJoinedPointsHoldFromTheFirstPacket(t *testing.T) {
	of := func(pairs ...int64) (all []join.Point) {
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, join.Point{TimeNs: pairs[i], Value: pairs[i+1]})
		}
		return all
	}
	j := &join.Connection{FirstNs: 1000, LastNs: 2000}
	for name, c := range map[string]struct {
		from, want []join.Point
	}{
		"none":              {nil, nil},
		"before and within": {of(800, 1, 900, 2, 1500, 3), of(0, 2, 500, 3)},
		"at the first":      {of(900, 1, 1000, 2), of(0, 2)},
		"only before":       {of(900, 1), of(0, 1)},
		"after the last":    {of(2000, 1, 2001, 2), of(1000, 1)},
	} {
		var got []join.Point
		for _, p := range during(j, c.from) {
			got = append(got, join.Point{TimeNs: int64(p.X), Value: int64(p.First)})
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
