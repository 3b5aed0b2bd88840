package timewarp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"
)

// With this argument the test's program runs a command in warped time, or is the guardian of one
// that does.
const (
	asRun      = "run"
	asGuardian = "guard"
)

// fakeVariable is the folder of the fake kernel that such a process has, in place of the one that
// runs.
const fakeVariable = "TIMEWARP_TEST_FAKE"

func TestMain(m *testing.M) {
	if len(os.Args) != 2 || os.Args[1] != asRun && os.Args[1] != asGuardian {
		os.Exit(m.Run())
	}
	k := Running()
	module := os.Getenv(moduleVariable)
	if dir := os.Getenv(fakeVariable); dir != "" {
		f := fakeIn(alone{}, dir)
		k = f.Kernel
		module = f.module
	}
	var err error
	if os.Args[1] == asGuardian {
		var u *Undone
		u, err = k.Guard(os.Stdin)
		if u != nil {
			fmt.Fprintf(os.Stderr, "taken back: %+v\n", *u)
		}
	} else {
		_, err = k.Run(context.Background(), RunOptions{
			Ratio: Ratio{10, 1}, TCP: TCP{ScaledCubic: k.canScaleCubic() == nil}, Module: module,
			Guardian: []string{asGuardian},
			Command:  []string{"sh", "-c", "echo begun; exec sleep 100000"},
		})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// alone is for a fake in a process that runs no test.
type alone struct{ testing.TB }

func (alone) Helper() {}

func (alone) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// killedRun has a process run a command in warped time, and kills it in the middle. It gives what
// its guardian printed, which has ended then.
func killedRun(t *testing.T, env ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self, asRun)
	c.Env = append(os.Environ(), env...)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	complaint, err := c.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var word string
	if _, err := fmt.Fscan(out, &word); err != nil || word != "begun" {
		text, _ := io.ReadAll(complaint)
		t.Fatalf("the command says %q, %v: %s", word, err, text)
	}
	// Of all that a terminal may end with it, the command too, the guardian alone is left.
	if err := syscall.Kill(-c.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(complaint)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // killed
	return string(said)
}

func TestAKilledRunIsTakenBackByItsGuardian(t *testing.T) {
	f := newFake(t)
	said := killedRun(t, fakeVariable+"="+strings.TrimSuffix(f.module, "/timewarp.ko"))
	if !strings.Contains(said, "taken back: {ClockSource:tsc") {
		t.Errorf("the guardian says %q", said)
	}
	if s, err := f.Status(); err != nil || s.Loaded || s.Left || s.Ratio != One {
		t.Errorf("%+v, %v", s, err)
	}
	f.unloadings++ // the other process unloads
	f.mustBeGone()
}

// A guardian that is dismissed, or cannot tell, changes nothing.
func TestAGuardianThatIsNotNeededChangesNothing(t *testing.T) {
	f := newFake(t)
	if err := f.writeNothing(); err != nil {
		t.Fatal(err)
	}
	leave(t, f)
	broken := errors.New("broken")
	if u, err := f.Guard(strings.NewReader(dismissMessage)); u != nil || err != nil || !f.Loaded() {
		t.Errorf("dismissed: %+v, %v", u, err)
	}
	if u, err := f.Guard(iotest.ErrReader(broken)); u != nil || !errors.Is(err, broken) || !f.Loaded() {
		t.Errorf("broken: %+v, %v", u, err)
	}
	if u, err := f.Guard(strings.NewReader("")); u == nil || err != nil {
		t.Errorf("needed: %+v, %v", u, err)
	}
	f.mustBeGone()
	if u, err := f.Guard(strings.NewReader("")); u != nil || err != nil {
		t.Errorf("with nothing left: %+v, %v", u, err)
	}
}

// The guardian does not disturb another process at work. Changes by load and set last.
func TestAGuardianWaitsForTheLockAndLeavesWhatIsToLast(t *testing.T) {
	f := newLoaded(t)
	lock, err := f.lock()
	if err != nil {
		t.Fatal(err)
	}
	guarded := make(chan error)
	go func() {
		u, err := f.Guard(strings.NewReader(""))
		if u != nil {
			err = errors.Join(err, fmt.Errorf("%+v was taken back", *u))
		}
		guarded <- err
	}()
	select {
	case err := <-guarded:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	lock.Close()
	if err := <-guarded; err != nil || !f.Loaded() {
		t.Errorf("loaded %t, %v", f.Loaded(), err)
	}
}

// A run that ends by itself takes back what is to be taken back, and leaves no process.
func TestTheGuardianEndsWithItsRun(t *testing.T) {
	f := newFake(t)
	t.Setenv(fakeVariable, strings.TrimSuffix(f.module, "/timewarp.ko"))
	children := func() string {
		text, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
		if err != nil {
			t.Skip(err)
		}
		return string(text)
	}
	before := children()
	r, err := f.Run(t.Context(), RunOptions{
		Ratio: Ratio{10, 1}, Module: f.module, Guardian: []string{asGuardian},
		Command: []string{"sh", "-c", "echo 2000 3000 >" + f.parameter("now")},
	})
	if err != nil || r.Undone == nil || f.unloadings != 1 {
		t.Errorf("%+v, %v, %d unloadings", r, err, f.unloadings)
	}
	f.mustBeGone()
	if after := children(); after != before {
		t.Errorf("processes %s were there, and %s are", before, after)
	}
}
