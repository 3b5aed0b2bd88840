//go:build kernel

package timewarp

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/file"
)

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
		if regexp.MustCompile(
			`^(Tick Device|Per CPU device|Broadcast device|Clock Event Device|` +
				` (mult|shift|max_delta_ns|min_delta_ns):)`,
		).MatchString(line) {
			s.WriteString(line + "\n")
		}
	}
	return s.String()
}

// The error is that of rounding alone, since both clocks follow the same counter.
func TestModuleClockRate(t *testing.T) {
	k, _ := loaded(t)
	const allowed = 200e-6
	for _, r := range []Ratio{{1, 1}, {2, 1}, {5, 1}, {10, 1}, {100, 1}, {5, 2}, {1, 2}, {1, 10}, {999, 7}, {1000, 1}} {
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

// Threads on all processors read the clock and compare with what the others have read, while N
// changes.
func TestModuleClockNeverGoesBack(t *testing.T) {
	k, _ := loaded(t)
	changes, wanted := int64(500), int64(1_000_000) // changes of the ratio, and readings over all of them
	for name, n := range map[string]*int64{"AIRTIDE_TIMEWARP_CHANGES": &changes, "AIRTIDE_TIMEWARP_READINGS": &wanted} {
		if text := os.Getenv(name); text != "" {
			*n = must(strconv.ParseInt(text, 10, 64))(t)
		}
	}
	var (
		stop    atomic.Bool
		readers sync.WaitGroup
	)
	base := time.Now()
	most := &readClock{name: "CLOCK_MONOTONIC by the vDSO", read: func() int64 { return int64(time.Since(base)) }}
	others := otherReadings()
	for cpu := range runtime.NumCPU() {
		readers.Go(func() {
			runtime.LockOSThread() // and end with the thread, which has an affinity of its own
			var own unix.CPUSet
			own.Set(cpu)
			if err := unix.SchedSetaffinity(0, &own); err != nil {
				t.Error(err)
			}
			const some = 1024 // are told at once, and are followed by one of each of the others
			for n := int64(1); !stop.Load(); n++ {
				most.once()
				if n%some != 0 {
					continue
				}
				most.readings.Add(some)
				for _, other := range others {
					other.once()
					other.readings.Add(1)
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
		for most.readings.Load() < wanted*(i+1)/changes {
			time.Sleep(time.Millisecond)
		}
	}
	stop.Store(true)
	readers.Wait()
	for _, c := range append(others, most) {
		t.Logf(
			"%s: %d readings on %d processors in %d changes: %d went back", c.name, c.readings.Load(),
			runtime.NumCPU(), changes, c.back.Load(),
		)
		if c.back.Load() > 0 || c.readings.Load() == 0 {
			t.Errorf("%s went back, or was not read", c.name)
		}
	}
}

// readClock is a way to read a clock, and what all processors have seen by it.
type readClock struct {
	name                   string
	read                   func() int64
	newest, readings, back atomic.Int64
}

// once reads it, and compares with what was read before.
func (c *readClock) once() {
	before := c.newest.Load()
	now := c.read()
	if now < before {
		c.back.Add(1)
	} else {
		c.newest.CompareAndSwap(before, now)
	}
}

// otherReadings are the clocks by system calls, and the date by the vDSO as well: Go reads no
// others by that.
func otherReadings() []*readClock {
	all := []*readClock{{name: "CLOCK_REALTIME by the vDSO", read: func() int64 { return time.Now().UnixNano() }}}
	for id, name := range map[int32]string{
		unix.CLOCK_MONOTONIC: "CLOCK_MONOTONIC", unix.CLOCK_MONOTONIC_RAW: "CLOCK_MONOTONIC_RAW",
		unix.CLOCK_BOOTTIME: "CLOCK_BOOTTIME", unix.CLOCK_REALTIME: "CLOCK_REALTIME",
	} {
		all = append(all, &readClock{name: name + " by a system call", read: func() int64 {
			var at unix.Timespec
			_ = unix.ClockGettime(id, &at) // Linux has all of them
			return at.Nano()
		}})
	}
	return all
}

// A processor that comes back has set up its timer anew. The ratio may have changed while it was
// away.
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

// After sleep (S3 where /sys/power/mem_sleep says deep, else suspend to idle) the clock goes on
// from where it was, at the same ratio. The board's clock, which wakes the machine, is real.
func TestModuleSurvivesSuspend(t *testing.T) {
	const alarm, power, forSeconds = "/sys/class/rtc/rtc0/wakealarm", "/sys/power/state", 5
	k, _ := loaded(t)
	r := Ratio{10, 1}
	if _, err := k.Set(r, TCP{}); err != nil {
		t.Fatal(err)
	}
	timers, before, sleeps, asleep := tickDevices(t), time.Now(), timesSlept(t), timeAsleep(t)
	mode, _ := file.Line("/sys/power/mem_sleep") // absent where there is only one
	if err := os.WriteFile(alarm, []byte(fmt.Sprintf("+%d", forSeconds)), 0o644); err != nil {
		t.Fatalf("this machine cannot be woken by an alarm: %v", err)
	}
	if err := os.WriteFile(power, []byte("mem"), 0o644); err != nil {
		_ = os.WriteFile(alarm, []byte("0"), 0o644)
		t.Fatalf("this machine cannot sleep: %v", err)
	}
	if took := time.Since(before); took < 0 {
		t.Errorf("the clock went back by %s", -took)
	}
	t.Logf("slept in mode %q, for %s by the difference of CLOCK_BOOTTIME and CLOCK_MONOTONIC", mode,
		timeAsleep(t)-asleep)
	if now := timesSlept(t); now != sleeps+1 {
		t.Errorf("the machine had slept %d times before, and %d after", sleeps, now)
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

// timesSlept is how often the machine has slept so far.
func timesSlept(t *testing.T) int {
	t.Helper()
	return must(file.Number("/sys/power/suspend_stats/success"))(t)
}

// timeAsleep is what the clocks say that it has slept.
func timeAsleep(t *testing.T) time.Duration {
	t.Helper()
	var boot, monotonic unix.Timespec
	if err := errors.Join(
		unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot), unix.ClockGettime(unix.CLOCK_MONOTONIC, &monotonic),
	); err != nil {
		t.Fatal(err)
	}
	return time.Duration(boot.Nano() - monotonic.Nano()).Round(time.Millisecond)
}

func TestModuleRefusesWhatIsWrong(t *testing.T) {
	k, module := loaded(t)
	for text, want := range map[string]error{
		"0": unix.ERANGE, "1001": unix.ERANGE, "1/11": unix.ERANGE, "1/0": unix.ERANGE, "1000001/1000000": unix.ERANGE,
		"-1": unix.EINVAL, "x": unix.EINVAL, "": unix.EINVAL, "5/": unix.EINVAL, "/5": unix.EINVAL,
		"1/2/3": unix.EINVAL, "99999999999": unix.EINVAL,
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
	before := burstsNow(t, k)
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
	// The module knows nothing of what set did besides: that stays, and is told.
	if s := must(k.Status())(t); !s.Stays || burstsNow(t, k) != tenfold(t, before) {
		t.Errorf("%s were %s and are %s, status %+v", burstNames, before, burstsNow(t, k), s)
	}
	if _, err := k.Set(Ratio{2, 1}, TCP{}); err == nil || !strings.Contains(err.Error(), others[0]) {
		t.Errorf("setting a ratio that has no effect gives: %v", err)
	}
	// Taken back by the refused set.
	if s := must(k.Status())(t); s.Stays || burstsNow(t, k) != before {
		t.Errorf("after that %s were %s and are %s, status %+v", burstNames, before, burstsNow(t, k), s)
	}
}

// burstNames are settings of net.ipv4 that the ratio changes.
var burstNames = []string{"tcp_pacing_ss_ratio", "tcp_pacing_ca_ratio", "tcp_tso_rtt_log"}

// burstsNow is what they are, without one that this kernel lacks.
func burstsNow(t *testing.T, k *Kernel) string {
	t.Helper()
	var all []string
	for _, name := range burstNames {
		value, err := k.readIPv4(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		all = append(all, strconv.Itoa(must(value, err)(t)))
	}
	return strings.Join(all, " ")
}

// tenfold is what they have to be at ratio 10: ten times as much, 1000 at most, and the logarithm 3
// more.
func tenfold(t *testing.T, bursts string) string {
	t.Helper()
	all := strings.Fields(bursts)
	for i, text := range all {
		value := must(strconv.Atoi(text))(t)
		if i < 2 {
			value = min(10*value, 1000)
		} else {
			value += 3
		}
		all[i] = strconv.Itoa(value)
	}
	return strings.Join(all, " ")
}

func TestModuleRunsACommand(t *testing.T) {
	module := os.Getenv(moduleVariable)
	if module == "" {
		t.Skip("needs a kernel with the module: make test-timewarp")
	}
	k, meanwhile := Running(), filepath.Join(t.TempDir(), "meanwhile")
	before := burstsNow(t, k)
	// A kernel that lacks one of them has no file of it, which cat says.
	command := "for f in " + strings.Join(
		burstNames, " ",
	) + "; do cat " + k.ipv4("") + "/$f >>" + meanwhile + "; done; sleep 20"
	r, err := k.Run(
		t.Context(), RunOptions{Ratio: Ratio{10, 1}, Module: module, Command: []string{"sh", "-c", command}},
	)
	if err != nil {
		t.Fatal(err)
	}
	during, err := os.ReadFile(meanwhile)
	if want := tenfold(t, before); err != nil || strings.Join(strings.Fields(string(during)), " ") != want {
		t.Errorf("meanwhile %s are %q, %v, and were %s: want %s", burstNames, during, err, before, want)
	}
	if after := burstsNow(t, k); after != before {
		t.Errorf("%s were %s and are %s", burstNames, before, after)
	}
	if r.WarpedNs < int64(20*time.Second) || math.Abs(r.Measured/10-1) > 200e-6 || r.ExitStatus != 0 {
		t.Errorf("%+v", r)
	}
	if r.Undone == nil || !r.Undone.DateSet || time.Duration(r.Undone.AheadNs) < 18*time.Second {
		t.Errorf("undone %+v", r.Undone)
	}
	fmt.Printf("sleep 20 at ratio 10 took %s\n", time.Duration(r.RealNs))
}
