package timewarp

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/file"
)

// RTO is the way in which TCP's retransmission timeout follows N.
type RTO string

// The RTO modes. kmod/timewarp/tcp.c documents their formulas.
const (
	// RTOBounds multiplies TCP's bounds (200 ms minimum, 1 s initial) and its bursts by N, so that
	// they are in real time as at N = 1.
	RTOBounds RTO = "bounds"
	RTOPaper  RTO = "paper" // all of it is N times as long, as Onozato et al. have it
	RTONone   RTO = "none"  // it does not
)

// RTOs lists them.
var RTOs = []RTO{RTOBounds, RTOPaper, RTONone}

// ParseRTO reads one; "" is RTOBounds.
func ParseRTO(text string) (RTO, error) {
	if text == "" {
		return RTOBounds, nil
	}
	for _, r := range RTOs {
		if text == string(r) {
			return r, nil
		}
	}
	return "", fmt.Errorf("rto %q: want bounds, paper or none", shorten(text))
}

// TCP describes how TCP follows N.
type TCP struct {
	RTO RTO // "" for RTOBounds
	// ScaledCubic gives new connections of this network namespace a CUBIC that grows by real time
	// (Linux 6.4).
	ScaledCubic bool
}

// Changed lists the side effects of a change of N.
type Changed struct {
	// Left holds the undone changes of a killed process, or nil.
	Left *Undone `json:"left,omitempty"`
	// Lacks lists the TCP settings that this kernel does not support.
	Lacks []string `json:"lacks,omitempty"`
}

// tcpNow is the present adaptation of TCP to N.
func (k *Kernel) tcpNow(s *state) (t TCP, err error) {
	t.RTO, err = k.RTO()
	t.ScaledCubic = s != nil && s.Cubic != nil
	return t, err
}

// followTCP prepares TCP for the next change of the ratio. Without a state another program loaded
// the module, and a changed congestion control could not be undone.
func (k *Kernel) followTCP(r Ratio, t TCP, s *state) (lacks []string, err error) {
	rto, err := ParseRTO(string(t.RTO))
	if err != nil {
		return nil, err
	}
	switch {
	case s == nil && t.ScaledCubic:
		return nil, errors.New("a scaled CUBIC is only for a module that airtide timewarp load has loaded")
	case s != nil:
		if err := k.setCubic(s, r, t.ScaledCubic); err != nil {
			return nil, err
		}
		switch err := k.setBursts(s, r, rto == RTOBounds); {
		case errors.Is(err, errPaced):
			lacks = append(lacks, fmt.Sprintf("bursts are smaller than at N = 1: %v", err))
		case err != nil:
			return nil, err
		}
	}
	if err := k.writeRTO(rto); err != nil {
		return nil, err
	}
	if rto == RTONone || r == One {
		return lacks, k.detachInitialRTO()
	}
	at, err := k.initialRTOAt()
	if err != nil {
		return nil, err
	}
	if err := k.attachInitialRTO(at); err != nil {
		lacks = append(lacks, fmt.Sprintf("the initial RTO stays at 1 s of the clock: %v", err))
	}
	return lacks, nil
}

var errNoRTO = errors.New(
	"the module that is loaded knows no rto, for it is of another version: unload it and build it again",
)

func (k *Kernel) writeRTO(rto RTO) error {
	switch err := file.Set(k.parameter("rto"), string(rto)); {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, os.ErrPermission):
		// A file that is not there cannot be made in sysfs.
		return errNoRTO
	case errors.Is(err, unix.EOPNOTSUPP):
		return rtoNotSupported(rto)
	case err != nil:
		return fmt.Errorf("setting how the RTO follows the ratio: %w", err)
	}
	return nil
}

func rtoNotSupported(rto RTO) error {
	return fmt.Errorf("this kernel cannot do --rto %s (see dmesg): choose another of bounds, paper and none", rto)
}

// RTO is the adaptation of the retransmission timeout to N. The module must be loaded.
func (k *Kernel) RTO() (RTO, error) {
	text, err := file.Line(k.parameter("rto"))
	if errors.Is(err, os.ErrNotExist) {
		return "", errNoRTO
	}
	if err != nil {
		return "", fmt.Errorf("reading how the RTO follows the ratio: %w", err)
	}
	return ParseRTO(text)
}

// initialRTOAt returns the kernel address of the module's initial timeout.
func (k *Kernel) initialRTOAt() (uint64, error) {
	text, err := file.Line(k.parameter("initial_rto_at"))
	if err != nil {
		return 0, fmt.Errorf("asking the module for its initial RTO: %w", err)
	}
	at, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("asking the module for its initial RTO: %w", err)
	}
	return at, nil
}
