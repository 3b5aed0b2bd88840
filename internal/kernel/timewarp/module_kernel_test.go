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
	"airtide/test/testnet"
)

// loaded loads the module into the running kernel, and restores everything after the test.
func loaded(t testing.TB) (k *Kernel, module string) {
	t.Helper()
	module = os.Getenv(moduleVariable)
	if module == "" {
		t.Skip("needs a kernel with the module: make test-timewarp")
	}
	k = Running()
	timers := tickDevices(t)
	source := must(k.CurrentClockSource())(t)
	if _, err := k.Load(module); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := k.Unload(); err != nil {
			t.Error(err)
		}
		if now := must(k.CurrentClockSource())(t); now != source {
			t.Errorf("clock source: got %s, want %s as before", now, source)
		}
		if now := tickDevices(t); now != timers {
			t.Errorf("timers: got\n%s\nwant\n%s\nas before", now, timers)
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

// tickDevices returns the lines of /proc/timer_list about the frequencies of timers.
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

// The clock runs at the ratio. Both clocks follow the same counter, so only rounding may differ.
func TestModuleClockRate(t *testing.T) {
	k, _ := loaded(t)
	const allowed = 200e-6
	for _, r := range []Ratio{{1, 1}, {2, 1}, {5, 1}, {10, 1}, {100, 1}, {5, 2}, {1, 2}, {1, 10}, {999, 7}, {1000, 1}} {
		if _, err := k.Set(r, TCP{}); err != nil {
			t.Fatal(err)
		}
		began := must(k.Now())(t)
		testnet.Idle(t, time.Duration(r.Float()*float64(500*time.Millisecond)), "both clocks run")
		real, warped := must(k.Now())(t).Since(began)
		off := float64(warped)/float64(real)/r.Float() - 1
		t.Logf("ratio %s: %s of real time, %s of the clock, off by %+.2f ppm", r, real, warped, off*1e6)
		if math.Abs(off) > allowed {
			t.Errorf("ratio %s is off by %.1f ppm, want at most %.0f", r, off*1e6, allowed*1e6)
		}
	}
}

// No clock goes back while N changes. Threads on all processors read the clocks and compare with
// each other.
func TestModuleClockNeverGoesBack(t *testing.T) {
	k, _ := loaded(t)
	changes := int64(500)
	wanted := int64(1_000_000) // changes of the ratio, and readings over all of them
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
			const some = 1024 // readings by the vDSO for each reading of the other clocks
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
		testnet.Eventually(t, time.Hour, "enough readings", // the clock's
			func() bool { return most.readings.Load() >= wanted*(i+1)/changes })
	}
	stop.Store(true)
	readers.Wait()
	for _, c := range append(others, most) {
		t.Logf("%s: %d readings on %d processors in %d changes: %d went back", c.name, c.readings.Load(),
			runtime.NumCPU(), changes, c.back.Load())
		if c.back.Load() > 0 || c.readings.Load() == 0 {
			t.Errorf("%s went back in %d of %d readings, want 0 of some", c.name, c.back.Load(), c.readings.Load())
		}
	}
}

// readClock is a way to read a clock, with the newest reading of all processors and counts.
type readClock struct {
	name                   string
	read                   func() int64
	newest, readings, back atomic.Int64
}

// once reads the clock and compares with the newest reading.
func (c *readClock) once() {
	before := c.newest.Load()
	now := c.read()
	if now < before {
		c.back.Add(1)
	} else {
		c.newest.CompareAndSwap(before, now)
	}
}

// otherReadings are the clocks by system calls, and the wall clock by the vDSO. Go reads no others
// by the vDSO.
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

// A processor that goes online sets up its timer at the present ratio, which may have changed while
// the processor was offline.
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
		testnet.Idle(t, time.Second, "some ticks pass") // the clock's
	}
	ten := Ratio{10, 1}
	for _, meanwhile := range []Ratio{ten, {5, 2}, One, {1, 2}} {
		want := set(meanwhile)
		set(ten)
		online("0")
		set(meanwhile)
		online("1")
		if now := tickDevices(t); now != want {
			t.Errorf("ratio %s: timers: got\n%s\nwant\n%s", meanwhile, now, want)
		}
		if got := must(k.Ratio())(t); got != meanwhile {
			t.Errorf("ratio: got %s, want %s", got, meanwhile)
		}
	}
}

// After sleep the clock continues at the same ratio. Sleep is S3 if /sys/power/mem_sleep is deep,
// else suspend to idle. The board's clock, which wakes the machine, runs in real time.
func TestModuleSurvivesSuspend(t *testing.T) {
	const alarm, power, forSeconds = "/sys/class/rtc/rtc0/wakealarm", "/sys/power/state", 5
	k, _ := loaded(t)
	r := Ratio{10, 1}
	if _, err := k.Set(r, TCP{}); err != nil {
		t.Fatal(err)
	}
	timers := tickDevices(t)
	before := time.Now()
	sleeps := timesSlept(t)
	asleep := timeAsleep(t)
	mode, _ := file.Line("/sys/power/mem_sleep") // absent if there is only one mode
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
		t.Errorf("sleeps: got %d, want %d", now, sleeps+1)
	}
	if got := must(k.Ratio())(t); got != r {
		t.Errorf("ratio after sleep: got %s, want %s", got, r)
	}
	if err := k.mustBeCurrent(moduleName); err != nil {
		t.Error(err)
	}
	if now := tickDevices(t); now != timers {
		t.Errorf("timers: got\n%s\nwant\n%s\nas before", now, timers)
	}
	began := must(k.Now())(t)
	testnet.Idle(t, 5*time.Second, "both clocks run")
	real, warped := must(k.Now())(t).Since(began)
	off := float64(warped)/float64(real)/r.Float() - 1
	t.Logf("after sleep: %s of real time, %s of the clock, off by %+.2f ppm", real, warped, off*1e6)
	if math.Abs(off) > 200e-6 {
		t.Errorf("after sleep the ratio is off by %.1f ppm, want at most 200", off*1e6)
	}
}

// timesSlept returns how often the machine has slept since its boot.
func timesSlept(t *testing.T) int {
	t.Helper()
	return must(file.Number("/sys/power/suspend_stats/success"))(t)
}

// timeAsleep returns how long the machine has slept since its boot, by its clocks.
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

func TestModuleRefusesWrongRatios(t *testing.T) {
	k, module := loaded(t)
	for text, want := range map[string]error{
		"0": unix.ERANGE, "1001": unix.ERANGE, "1/11": unix.ERANGE, "1/0": unix.ERANGE, "1000001/1000000": unix.ERANGE,
		"-1": unix.EINVAL, "x": unix.EINVAL, "": unix.EINVAL, "5/": unix.EINVAL, "/5": unix.EINVAL,
		"1/2/3": unix.EINVAL, "99999999999": unix.EINVAL,
		strings.Repeat("1", 4000): unix.EINVAL,
	} {
		if err := os.WriteFile(k.parameter("ratio"), []byte(text+"\n"), 0o644); !errors.Is(err, want) {
			t.Errorf("ratio %.20q: got %v, want %v", text, err, want)
		}
	}
	if err := unix.DeleteModule(moduleName, unix.O_NONBLOCK); !errors.Is(err, unix.EWOULDBLOCK) {
		t.Errorf("unloaded while selected: got %v, want %v", err, unix.EWOULDBLOCK)
	}
	if err := k.insert(module); !errors.Is(err, unix.EEXIST) {
		t.Errorf("loaded a second time: got %v, want %v", err, unix.EEXIST)
	}
	if got := must(k.Ratio())(t); got != One {
		t.Errorf("ratio: got %s, want %s", got, One)
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
	testnet.Eventually(t, time.Hour, "real time", // the clock's, which may be fast still
		func() bool { return must(k.Ratio())(t) == One })
	// The module does not know the other settings of Set. They stay, and the status says so.
	if s := must(k.Status())(t); !s.Stays || burstsNow(t, k) != tenfold(t, before) {
		t.Errorf("%s: got %s, want ten times %s; status %+v, want Stays", burstNames, burstsNow(t, k), before, s)
	}
	if _, err := k.Set(Ratio{2, 1}, TCP{}); err == nil || !strings.Contains(err.Error(), others[0]) {
		t.Errorf("a ratio without effect: got %v, want an error with %s", err, others[0])
	}
	// The refused Set restores them.
	if s := must(k.Status())(t); s.Stays || burstsNow(t, k) != before {
		t.Errorf("%s: got %s, want %s as before; status %+v", burstNames, burstsNow(t, k), before, s)
	}
}

// burstNames are settings of net.ipv4 that the ratio changes.
var burstNames = []string{"tcp_pacing_ss_ratio", "tcp_pacing_ca_ratio", "tcp_tso_rtt_log"}

// burstsNow returns the values of burstNames, without those that this kernel lacks.
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

// tenfold returns the values of burstNames at ratio 10: ten times the ratios, at most 1000, and the
// logarithm plus 3.
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
	k := Running()
	meanwhile := filepath.Join(t.TempDir(), "meanwhile")
	before := burstsNow(t, k)
	// If the kernel lacks one of them, cat prints an error.
	command := "for f in " + strings.Join(
		burstNames, " ",
	) + "; do cat " + k.ipv4("") + "/$f >>" + meanwhile + "; done; sleep 20"
	r, err := k.Run(t.Context(),
		RunOptions{Ratio: Ratio{10, 1}, Module: module, Command: []string{"sh", "-c", command}})
	if err != nil {
		t.Fatal(err)
	}
	during, err := os.ReadFile(meanwhile)
	if want := tenfold(t, before); err != nil || strings.Join(strings.Fields(string(during)), " ") != want {
		t.Errorf("%s during the command: got %q, %v, want %s", burstNames, during, err, want)
	}
	if after := burstsNow(t, k); after != before {
		t.Errorf("%s after the command: got %s, want %s", burstNames, after, before)
	}
	if r.WarpedNs < int64(20*time.Second) || math.Abs(r.Measured/10-1) > 200e-6 || r.ExitStatus != 0 {
		t.Errorf("result %+v, want 20 s or more at ratio 10 and status 0", r)
	}
	if r.Undone == nil || !r.Undone.DateSet || time.Duration(r.Undone.AheadNs) < 18*time.Second {
		t.Errorf("undone %+v, want the date set back by 18 s or more", r.Undone)
	}
	fmt.Printf("sleep 20 at ratio 10 took %s\n", time.Duration(r.RealNs))
}
