package congestion

import (
	"errors"
	"testing"
)

func TestTimeRatioOutOfRange(t *testing.T) {
	for _, ratio := range [][2]uint32{{0, 1}, {1, 0}, {1001, 1}, {1, 11}, {1_000_001, 1_000_000}} {
		p := CubicBound.Defaults()
		p.TimeNum = ratio[0]
		p.TimeDen = ratio[1]
		_, err := Load(CubicBound, Options{Name: uniqueName("at"), Parameters: p})
		if err == nil || errors.Is(err, ErrNotSupported) {
			t.Errorf("%d/%d gives: %v", ratio[0], ratio[1], err)
		}
	}
}
