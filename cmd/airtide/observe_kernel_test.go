//go:build kernel

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"airtide/internal/kernel/sockets/owner"
	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
	"airtide/test/need"
	"airtide/test/testnet"
)

// talker is a process that talks within a namespace.
type talker struct {
	host *testnet.Host
	name string
	pid  int
	port string
}

// startTalker starts a talker with its own name, in a cgroup if one is given.
func startTalker(t *testing.T, h *testnet.Host, name string, g *owner.Group) *talker {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(exe, path); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, h.V4.String())
	cmd.Env = append(os.Environ(), self+"=talk")
	cmd.Stderr = os.Stderr
	if g != nil {
		cmd.SysProcAttr = g.Attributes()
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	var port int
	if _, err := fmt.Fscan(out, &port); err != nil {
		t.Fatalf("%s said nothing: %v", name, err)
	}
	return &talker{h, name, cmd.Process.Pid, fmt.Sprint(port)}
}

// twoTalkers returns talkers that differ in every property that a flag can select. The first talker
// has a separate cgroup.
func twoTalkers(t *testing.T) (one, other *talker, cgroup *owner.Group) {
	t.Helper()
	groups, err := owner.OpenCgroups()
	if err != nil {
		t.Fatal(err)
	}
	g, err := groups.NewGroup("airtide-talk-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Remove("the next test"); err != nil {
			t.Error(err)
		}
	})
	n := testnet.New(t, testnet.Options{})
	return startTalker(t, n.Client, "talker-one", g), startTalker(t, n.Server, "talker-other", nil), g
}

func TestEachFlagLetsThroughItsFlowsAlone(t *testing.T) {
	need.Root(t)
	one, other, cgroup := twoTalkers(t)
	both := []string{one.name, one.name, other.name, other.name}
	for _, c := range []struct {
		flags []string
		want  []string
	}{
		{[]string{"--port", one.port, "--port", other.port}, both},
		{[]string{"--port", one.port}, both[:2]},
		{[]string{"--host", one.host.V4.String()}, both[:2]},
		{[]string{"--process", one.name}, both[:2]},
		{[]string{"--process", fmt.Sprint(one.pid)}, both[:2]},
		{[]string{"--process", one.name + ",talker-other"}, both},
		{[]string{"--cgroup", fmt.Sprint(cgroup.ID)}, both[:2]},
		{[]string{"--cgroup", fmt.Sprintf("airtide-talk-%d", os.Getpid())}, both[:2]},
		{[]string{"--netns", one.host.Name}, both[:2]},
		{[]string{"--netns", fmt.Sprintf("pid:%d", one.pid)}, both[:2]},
		{[]string{"--netns", one.host.Name + "," + other.host.Name, "--port", other.port}, both[2:]},
	} {
		for _, source := range []string{"bpf", "diag"} {
			t.Run(source+" "+strings.Join(c.flags, " "), func(t *testing.T) {
				watch := recorded
				if source == "diag" {
					watch = monitored
				}
				seen := watch(t, append(c.flags, "--source", source), func(netns []uint32) bool {
					return len(namesOf(netns, one, other)) >= len(c.want)
				})
				if got := namesOf(seen, one, other); !slices.Equal(got, c.want) {
					t.Errorf("observed are flows of %q, want %q", got, c.want)
				}
			})
		}
	}
}

// namesOf names the talkers of flows by their namespaces. It ignores flows of other processes,
// which the same flag may select.
func namesOf(netns []uint32, talkers ...*talker) (names []string) {
	for _, talker := range talkers {
		for _, n := range netns {
			if n == talker.host.NetNS {
				names = append(names, talker.name)
			}
		}
	}
	return names
}

// recorded records until enough flows have samples, and returns the namespace of each that has.
func recorded(t *testing.T, flags []string, enough func(netns []uint32) bool) (netns []uint32) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.atr")
	end := startRecording(t, path, flags...)
	waitFor(t, "the flows", func() bool { return enough(sampled(t, path).namespaces()) })
	end()
	return sampled(t, path).namespaces()
}

// startRecording records in the background until its end function is called.
func startRecording(t *testing.T, path string, flags ...string) (end func()) {
	t.Helper()
	cmd := airtide(append([]string{"record", "-q", "-o", path}, flags...)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killAfterFailure(t, cmd)
	return func() {
		t.Helper()
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Fatalf("recording: %v: %s", err, &said)
		}
	}
}

// killAfterFailure kills a started command if the test ends without waiting for it.
func killAfterFailure(t *testing.T, cmd *exec.Cmd) {
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
}

// monitored watches until enough flows are shown, and returns their namespaces as the last round
// shows them.
func monitored(t *testing.T, flags []string, enough func(netns []uint32) bool) (netns []uint32) {
	t.Helper()
	cmd := airtide(append([]string{"monitor", "--json", "--interval", "200ms"}, flags...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	rounds := 0
	after := 0
	for lines := json.NewDecoder(out); rounds < 100 && after < 3; {
		var l struct {
			Type  string
			NetNS uint32 `json:"netns"`
		}
		if err := lines.Decode(&l); err != nil {
			t.Fatalf("monitor ended: %v", err)
		}
		switch l.Type {
		case "status": // a round begins
			rounds++
			if enough(netns) {
				after++
			}
			if after < 3 {
				netns = nil
			}
		case "flow":
			netns = append(netns, l.NetNS)
		}
	}
	return netns
}

// samples are the times of each flow's samples in a recording.
type samples struct {
	tcp.Discard
	flows map[tcp.FlowID]*tcp.Flow
	times map[tcp.FlowID][]int64
}

// sampled reads the samples of a recording, which may still be in progress.
func sampled(t *testing.T, path string) *samples {
	t.Helper()
	s := &samples{flows: map[tcp.FlowID]*tcp.Flow{}, times: map[tcp.FlowID][]int64{}}
	r, err := trace.Open(path)
	if err != nil {
		return s // nothing was written yet
	}
	defer r.Close()
	if err := r.Scan(context.Background(), trace.ScanOptions{Fields: []tcp.Field{}}, s); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *samples) Flow(f *tcp.Flow) error {
	last := *f
	s.flows[f.ID] = &last
	return nil
}

func (s *samples) Samples(b *tcp.Batch) error {
	for i, id := range b.Flow {
		s.times[id] = append(s.times[id], b.TimeNs[i])
	}
	return nil
}

// namespaces returns the namespaces of the flows with samples.
func (s *samples) namespaces() (netns []uint32) {
	for id := range s.times {
		netns = append(netns, s.flows[id].NetNS)
	}
	return netns
}

func (s *samples) count() (n int) {
	for _, times := range s.times {
		n += len(times)
	}
	return n
}

func TestDensityThinsOutTheSamples(t *testing.T) {
	need.Root(t)
	n := testnet.New(t, testnet.Options{})
	one := startTalker(t, n.Client, "talker-one", nil)
	dir := t.TempDir()
	path := func(density string) string { return filepath.Join(dir, density+".atr") }
	var ends []func()
	for _, density := range []string{"100ms", "change", "every"} {
		ends = append(ends,
			startRecording(t, path(density), "--source", "bpf", "--netns", one.host.Name, "--density", density))
	}
	waitFor(t, "samples", func() bool {
		return sampled(t, path("every")).count() >= 400 && sampled(t, path("100ms")).count() >= 10
	})
	for _, end := range ends {
		end()
	}
	every := sampled(t, path("every")).count()
	for _, density := range []string{"100ms", "change"} {
		s := sampled(t, path(density))
		if n := s.count(); n == 0 || n > every/2 {
			t.Errorf("--density %s: %d samples beside %d", density, n, every)
		}
		for id, times := range s.times {
			for i := 1; density == "100ms" && i < len(times); i++ {
				if gap := time.Duration(times[i] - times[i-1]); gap < 100*time.Millisecond {
					t.Errorf("samples %d and %d of flow %d are %s apart", i-1, i, id, gap)
				}
			}
		}
	}
}
