package kind

import (
	"errors"
	"fmt"
)

// MinBound is the least bound of a window, in packets.
// With a window of one packet TCP waits for delayed ACKs.
const MinBound = 2

// MaxBound is the largest, in packets: CUBIC's arithmetic ends there.
const MaxBound = 1 << 30

// Bounds limits a congestion window, in packets. Zero means no limit.
type Bounds struct {
	Lower uint32 `json:"lower,omitempty"`
	Upper uint32 `json:"upper,omitempty"`
}

// ValueError is a value that no congestion control takes. Want may be empty.
type ValueError struct{ Found, Want string }

func (e *ValueError) Error() string {
	if e.Want == "" {
		return e.Found
	}
	return e.Found + ": want " + e.Want
}

// Check returns the first mistake in bounds.
func (b Bounds) Check() error {
	for _, n := range []uint32{b.Lower, b.Upper} {
		if n != 0 && (n < MinBound || n > MaxBound) {
			return &ValueError{
				Found: fmt.Sprintf("bound of %d packets", n),
				Want:  fmt.Sprintf("%d to %d, or 0 for none", MinBound, MaxBound),
			}
		}
	}
	if b.Upper != 0 && b.Lower > b.Upper {
		found := fmt.Sprintf("lower bound of %d packets above the upper bound of %d", b.Lower, b.Upper)
		return &ValueError{Found: found}
	}
	if b == (Bounds{}) {
		return errors.New("no bound is given")
	}
	return nil
}
