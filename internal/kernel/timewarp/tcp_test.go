package timewarp

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"airtide/internal/kernel/congestion"
	"airtide/internal/sys/file"
)

func TestTheRTOFollowsWhatIsAsked(t *testing.T) {
	f := newLoaded(t)
	for _, c := range []struct {
		ratio    Ratio
		rto      RTO
		want     RTO
		attached bool
	}{
		{Ratio{10, 1}, "", RTOBounds, true},
		{Ratio{10, 1}, RTOPaper, RTOPaper, true},
		{Ratio{10, 1}, RTONone, RTONone, false},
		{Ratio{2, 1}, RTOBounds, RTOBounds, true},
		{One, RTOBounds, RTOBounds, false},
	} {
		if _, err := f.Set(c.ratio, TCP{RTO: c.rto}); err != nil {
			t.Fatal(err)
		}
		s, err := f.Status()
		if err != nil || s.RTO != c.want || (f.initialRTO == 4711) != c.attached {
			t.Errorf("ratio %s, rto %q: %+v, %v, program at %d", c.ratio, c.rto, s, err, f.initialRTO)
		}
	}
	if _, err := f.Set(Ratio{2, 1}, TCP{RTO: "usual"}); err == nil ||
		!strings.Contains(err.Error(), "bounds, paper or none") {
		t.Errorf("rto usual: %v", err)
	}
}

func TestWithoutBPFTheRestFollowsAndItIsSaid(t *testing.T) {
	f := newFake(t)
	f.noBPF = errors.New("no BPF here")
	if _, err := f.Load(f.module); err != nil {
		t.Fatal(err)
	}
	c, err := f.Set(Ratio{10, 1}, TCP{})
	if err != nil || len(c.Lacks) != 1 || !strings.Contains(c.Lacks[0], "initial RTO") ||
		!strings.Contains(c.Lacks[0], "no BPF here") {
		t.Errorf("%+v, %v", c, err)
	}
	if got := f.read(f.parameter("ratio")); got != "10" {
		t.Errorf("the ratio is %s", got)
	}
}

func TestAModuleOfAnotherVersionIsSaid(t *testing.T) {
	f := newLoaded(t)
	if err := errors.Join(os.Remove(f.parameter("rto")), os.Mkdir(f.parameter("rto"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Set(Ratio{10, 1}, TCP{}); err == nil {
		t.Error("it is not noticed")
	}
	if got := f.read(f.parameter("ratio")); got != "1" {
		t.Errorf("the ratio is %s", got)
	}
}

func TestAScaledCubicLastsAsLongAsItsRatio(t *testing.T) {
	f := newLoaded(t)
	scaled := TCP{ScaledCubic: true}
	for _, c := range []struct {
		ratio     Ratio
		tcp       TCP
		cubic     Ratio
		defaultCC string
	}{
		{Ratio{10, 1}, scaled, Ratio{10, 1}, cubicName},
		{Ratio{5, 2}, scaled, Ratio{5, 2}, cubicName},
		{Ratio{5, 2}, TCP{}, Ratio{}, "reno"},
		{Ratio{2, 1}, scaled, Ratio{2, 1}, cubicName},
		{One, scaled, Ratio{}, "reno"},
		{Ratio{2, 1}, scaled, Ratio{2, 1}, cubicName},
	} {
		if _, err := f.Set(c.ratio, c.tcp); err != nil {
			t.Fatal(err)
		}
		s, err := f.Status()
		if now := f.read(f.defaultCC()); err != nil || f.cubic != c.cubic || now != c.defaultCC ||
			s.ScaledCubic != (c.cubic != Ratio{}) {
			t.Errorf("ratio %s, %+v: a CUBIC for %v, congestion control %s, %+v, %v", c.ratio, c.tcp, f.cubic, now, s,
				err)
		}
	}
	if _, err := f.Unload(); err != nil {
		t.Fatal(err)
	}
	f.mustBeGone()
}

// A change that fails, after TCP was changed, leaves all as it was at the ratio before.
func TestAChangeThatFailsLeavesTCPAsItWas(t *testing.T) {
	five := TCP{ScaledCubic: true}
	ten := TCP{RTO: RTOPaper}
	for name, broken := range map[string]func(f *fake) (mend func()){
		"the initial RTO": func(f *fake) func() {
			f.write(f.parameter("initial_rto_at"), "nowhere\n")
			return func() { f.write(f.parameter("initial_rto_at"), "4711\n") }
		},
		"the ratio": func(f *fake) func() {
			f.writeRatioFile = func(string, string) error { return unix.EOPNOTSUPP }
			return func() { f.writeRatioFile = file.Set }
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newLoaded(t)
			f.writePacing()
			if _, err := f.Set(Ratio{5, 1}, five); err != nil {
				t.Fatal(err)
			}
			before := f.followed()
			mend := broken(f)
			if _, err := f.Set(Ratio{10, 1}, ten); err == nil {
				t.Error("it is not noticed")
			}
			if now := f.followed(); now != before {
				t.Errorf("it was\n%s\nand is\n%s", before, now)
			}
			mend()
			if _, err := f.Unload(); err != nil {
				t.Fatal(err)
			}
			f.mustBeGone()
		})
	}
}

// followed is all that follows the ratio.
func (f *fake) followed() string {
	return fmt.Sprint(f.read(f.parameter("ratio")), f.read(f.parameter("rto")), f.read(f.defaultCC()), f.cubic,
		f.bursts(), f.readWatchdogValues())
}

// A choice that somebody made meanwhile stays.
func TestAnotherCongestionControlIsLeftAlone(t *testing.T) {
	f := newLoaded(t)
	if _, err := f.Set(Ratio{10, 1}, TCP{ScaledCubic: true}); err != nil {
		t.Fatal(err)
	}
	f.write(f.defaultCC(), "bbr\n")
	if _, err := f.Unload(); err != nil {
		t.Fatal(err)
	}
	if now := f.read(f.defaultCC()); now != "bbr" || f.cubic != (Ratio{}) {
		t.Errorf("the congestion control is %s, a CUBIC for %v is loaded", now, f.cubic)
	}
}

func TestAKernelWithoutStructOpsRefusesAScaledCubic(t *testing.T) {
	f := newFake(t)
	f.noCubic = congestion.ErrNotSupported
	_, err := f.Run(
		t.Context(),
		RunOptions{Ratio: Ratio{10, 1}, TCP: TCP{ScaledCubic: true}, Module: f.module, Command: []string{"true"}},
	)
	if !errors.Is(err, congestion.ErrNotSupported) || !strings.Contains(err.Error(), "scaled CUBIC") {
		t.Errorf("it gives: %v", err)
	}
	f.mustBeGone()
}

// The next process undoes the changes of a killed one, those of TCP too.
func TestTCPIsTakenBackAfterAKilledProcess(t *testing.T) {
	f := newFake(t)
	if err := f.writeNothing(); err != nil {
		t.Fatal(err)
	}
	if err := f.load(f.module, true); err != nil {
		t.Fatal(err)
	}
	if _, err := f.set(Ratio{10, 1}, TCP{ScaledCubic: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.undoLeft(); err != nil {
		t.Fatal(err)
	}
	f.mustBeGone()
}

// A change of TCP that cannot be undone does not stop the restoration of the clock, and is tried
// again.
func TestTheClockIsPutRightWhateverBecomesOfTCP(t *testing.T) {
	f := newLoaded(t)
	if _, err := f.Set(Ratio{10, 1}, TCP{}); err != nil {
		t.Fatal(err)
	}
	detach := f.detachInitialRTO
	stuck := errors.New("stuck")
	f.detachInitialRTO = func() error { return stuck }
	if _, err := f.Unload(); !errors.Is(err, stuck) || f.Loaded() {
		t.Errorf("it gives %v, loaded: %t", err, f.Loaded())
	}
	f.detachInitialRTO = detach
	if _, err := f.Unload(); err != nil {
		t.Error(err)
	}
	f.mustBeGone()
}
