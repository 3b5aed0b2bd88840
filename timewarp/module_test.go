package timewarp

import (
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// These tests need a kernel that loads the module, and change its time: scripts/test-timewarp runs them in a virtual
// machine. The module's file is in this variable of the environment.
const moduleVariable = "AIRTIDE_TIMEWARP_MODULE"

// loaded loads the module into the running kernel, and takes everything back after the test.
func loaded(t testing.TB) (k *Kernel, module string) {
	t.Helper()
	module = os.Getenv(moduleVariable)
	if module == "" {
		t.Skip("needs a kernel with the module: make test-timewarp")
	}
	k = Running()
	timers, source := tickDevices(t), must(k.CurrentClockSource())(t)
	if _, err := k.Load(module); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := k.Unload(); err != nil {
			t.Error(err)
		}
		if now := must(k.CurrentClockSource())(t); now != source {
			t.Errorf("the clock source was %s and is %s", source, now)
		}
		if now := tickDevices(t); now != timers {
			t.Errorf("timers were\n%s\nand are\n%s", timers, now)
		}
	})
	return k, module
}

func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// tickDevices is what the kernel says of its timers' frequencies.
func tickDevices(t testing.TB) string {
	t.Helper()
	var s strings.Builder
	for _, line := range strings.Split(string(must(os.ReadFile("/proc/timer_list"))(t)), "\n") {
		if regexp.MustCompile(`^(Tick Device|Per CPU device|Broadcast device|Clock Event Device| (mult|shift|max_delta_ns|min_delta_ns):)`).MatchString(line) {
			s.WriteString(line + "\n")
		}
	}
	return s.String()
}

// The error is that of rounding alone, since both clocks follow the same counter.
func TestModuleClockRate(t *testing.T) {
	k, _ := loaded(t)
	const allowed = 200e-6
	for _, r := range []Ratio{{1, 1}, {2, 1}, {5, 1}, {10, 1}, {100, 1}, {5, 2}, {1, 2}, {1, 10}, {999, 7}} {
		if _, err := k.Set(r, TCP{}); err != nil {
			t.Fatal(err)
		}
		began := must(k.Now())(t)
		time.Sleep(time.Duration(r.Float() * float64(500*time.Millisecond)))
		real, warped := must(k.Now())(t).Since(began)
		off := float64(warped)/float64(real)/r.Float() - 1
		t.Logf("ratio %s: %s of real time, %s of the clock, off by %+.2f ppm", r, real, warped, off*1e6)
		if math.Abs(off) > allowed {
			t.Errorf("ratio %s is off by %.1f ppm", r, off*1e6)
		}
	}
}

// Threads on all processors read the clock and compare with what the others have read, while N changes.
func TestModuleClockNeverGoesBack(t *testing.T) {
	k, _ := loaded(t)
	changes, wanted := int64(500), int64(1_000_000) // changes of the ratio, and readings over all of them
	for name, n := range map[string]*int64{"AIRTIDE_TIMEWARP_CHANGES": &changes, "AIRTIDE_TIMEWARP_READINGS": &wanted} {
		if text := os.Getenv(name); text != "" {
			*n = must(strconv.ParseInt(text, 10, 64))(t)
		}
	}
	var (
		newest, readings, back atomic.Int64
		stop                   atomic.Bool
		readers                sync.WaitGroup
	)
	base := time.Now()
	for cpu := range runtime.NumCPU() {
		readers.Go(func() {
			runtime.LockOSThread() // and end with the thread, which has an affinity of its own
			var own unix.CPUSet
			own.Set(cpu)
			if err := unix.SchedSetaffinity(0, &own); err != nil {
				t.Error(err)
			}
			const some = 1024 // are told at once
			for n := int64(1); !stop.Load(); n++ {
				before := newest.Load()
				now := int64(time.Since(base))
				if now < before {
					back.Add(1)
				} else {
					newest.CompareAndSwap(before, now)
				}
				if n%some == 0 {
					readings.Add(some)
				}
			}
		})
	}
	ratios := []Ratio{{10, 1}, {1, 1}, {3, 2}, {100, 1}, {1, 2}, {5, 1}, {2, 1}, {1, 10}}
	for i := range changes {
		if _, err := k.set(ratios[int(i)%len(ratios)], TCP{RTO: RTONone}); err != nil {
			t.Error(err)
			break
		}
		for readings.Load() < wanted*(i+1)/changes {
			time.Sleep(time.Millisecond)
		}
	}
	stop.Store(true)
	readers.Wait()
	t.Logf("%d readings on %d processors in %d changes: %d went back", readings.Load(), runtime.NumCPU(), changes, back.Load())
	if back.Load() > 0 {
		t.Error("the clock went back")
	}
}

// A processor that comes back has set up its timer anew. The ratio may have changed while it was away.
func TestModuleFollowsProcessorsThatComeAndGo(t *testing.T) {
	const cpu1 = "/sys/devices/system/cpu/cpu1/online"
	k, _ := loaded(t)
	if _, err := os.Stat(cpu1); err != nil {
		t.Skipf("no second processor that can be switched off: %v", err)
	}
	set := func(r Ratio) string {
		t.Helper()
		if _, err := k.Set(r, TCP{}); err != nil {
			t.Fatal(err)
		}
		return tickDevices(t)
	}
	online := func(state string) {
		t.Helper()
		if err := os.WriteFile(cpu1, []byte(state), 0o644); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // the clock's: some ticks pass
	}
	ten := Ratio{10, 1}
	for _, meanwhile := range []Ratio{ten, {5, 2}, One, {1, 2}} {
		want := set(meanwhile)
		set(ten)
		online("0")
		set(meanwhile)
		online("1")
		if now := tickDevices(t); now != want {
			t.Errorf("ratio %s: timers should be\n%s\nand are\n%s", meanwhile, want, now)
		}
		if got := must(k.Ratio())(t); got != meanwhile {
			t.Errorf("the ratio is %s, not %s", got, meanwhile)
		}
	}
}

// After sleep (S3) the clock goes on from where it was, at the same ratio. The board's clock, which wakes the machine, is real.
func TestModuleSurvivesSuspend(t *testing.T) {
	const alarm, power, forSeconds = "/sys/class/rtc/rtc0/wakealarm", "/sys/power/state", 5
	k, _ := loaded(t)
	r := Ratio{10, 1}
	if _, err := k.Set(r, TCP{}); err != nil {
		t.Fatal(err)
	}
	timers, before := tickDevices(t), time.Now()
	if err := os.WriteFile(alarm, []byte(fmt.Sprintf("+%d", forSeconds)), 0o644); err != nil {
		t.Fatalf("this machine cannot be woken by an alarm: %v", err)
	}
	if err := os.WriteFile(power, []byte("mem"), 0o644); err != nil {
		_ = os.WriteFile(alarm, []byte("0"), 0o644)
		t.Fatalf("this machine cannot sleep: %v", err)
	}
	if slept := time.Since(before); slept < 0 {
		t.Errorf("the clock went back by %s", -slept)
	}
	if got := must(k.Ratio())(t); got != r {
		t.Errorf("the ratio is %s", got)
	}
	if err := k.mustBeCurrent(moduleName); err != nil {
		t.Error(err)
	}
	if now := tickDevices(t); now != timers {
		t.Errorf("timers were\n%s\nand are\n%s", timers, now)
	}
	began := must(k.Now())(t)
	time.Sleep(5 * time.Second)
	real, warped := must(k.Now())(t).Since(began)
	off := float64(warped)/float64(real)/r.Float() - 1
	t.Logf("after sleep: %s of real time, %s of the clock, off by %+.2f ppm", real, warped, off*1e6)
	if math.Abs(off) > 200e-6 {
		t.Errorf("after sleep the ratio is off by %.1f ppm", off*1e6)
	}
}

func TestModuleRefusesWhatIsWrong(t *testing.T) {
	k, module := loaded(t)
	for text, want := range map[string]error{
		"0": unix.ERANGE, "1001": unix.ERANGE, "1/11": unix.ERANGE, "1/0": unix.ERANGE, "1000001/1000000": unix.ERANGE,
		"-1": unix.EINVAL, "x": unix.EINVAL, "": unix.EINVAL, "5/": unix.EINVAL, "/5": unix.EINVAL, "1/2/3": unix.EINVAL, "99999999999": unix.EINVAL,
		strings.Repeat("1", 4000): unix.EINVAL,
	} {
		if err := os.WriteFile(k.parameter("ratio"), []byte(text+"\n"), 0o644); !errors.Is(err, want) {
			t.Errorf("%.20q gives %v, want %v", text, err, want)
		}
	}
	if err := unix.DeleteModule(moduleName, unix.O_NONBLOCK); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("unloading while selected gives %v", err)
	}
	if err := k.insert(module); !errors.Is(err, unix.EEXIST) {
		t.Errorf("loading twice gives %v", err)
	}
	if got := must(k.Ratio())(t); got != One {
		t.Errorf("the ratio is %s", got)
	}
}

func TestModuleIsRealAgainWhenAnotherClockSourceIsSelected(t *testing.T) {
	k, _ := loaded(t)
	if _, err := k.Set(Ratio{10, 1}, TCP{}); err != nil {
		t.Fatal(err)
	}
	others := must(k.otherClockSources())(t)
	if err := k.selectClockSource(others[0]); err != nil {
		t.Fatal(err)
	}
	for must(k.Ratio())(t) != One { // the test's own time limit ends it
		time.Sleep(10 * time.Millisecond)
	}
	if _, err := k.Set(Ratio{2, 1}, TCP{}); err == nil || !strings.Contains(err.Error(), others[0]) {
		t.Errorf("setting a ratio that has no effect gives: %v", err)
	}
}

func TestModuleRunsACommand(t *testing.T) {
	module := os.Getenv(moduleVariable)
	if module == "" {
		t.Skip("needs a kernel with the module: make test-timewarp")
	}
	r, err := Running().Run(t.Context(), RunOptions{Ratio: Ratio{10, 1}, Module: module, Command: []string{"sleep", "20"}})
	if err != nil {
		t.Fatal(err)
	}
	if r.WarpedNs < int64(20*time.Second) || math.Abs(r.Measured/10-1) > 200e-6 || r.ExitStatus != 0 {
		t.Errorf("%+v", r)
	}
	if r.Undone == nil || !r.Undone.DateSet || time.Duration(r.Undone.AheadNs) < 18*time.Second {
		t.Errorf("undone %+v", r.Undone)
	}
	fmt.Printf("sleep 20 at ratio 10 took %s\n", time.Duration(r.RealNs))
}
