//go:build kernel

package congestion

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"airtide/test/testnet"
)

func TestPinnedOutlivesWhoLoadedItUntilItIsUnloaded(t *testing.T) {
	folder := bpffs(t)
	name := uniqueName("pin")
	p := Compound.Defaults()
	p.Gamma = 20.5
	p.Lambda = 0.5
	l, err := Load(Compound, Options{Name: name, Parameters: p, Pin: true, BPFFS: folder})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	e, err := Find(folder, name)
	if err != nil {
		t.Fatal(err)
	}
	if e.Kind != Compound || e.Parameters != p || e.Pin != l.Pinned || len(e.Processes) != 0 || e.Sockets != 0 {
		t.Errorf("listed as %+v, want Compound with %+v at %s", e, p, l.Pinned)
	}
	if _, err := Load(
		Compound, Options{Name: name, Parameters: p, Pin: true, BPFFS: folder},
	); !errors.Is(err, ErrInUse) {
		t.Errorf("loaded a second time: got %v, want %v", err, ErrInUse)
	}
	if _, err := Unload(t.Context(), bpffs(t), name); err == nil || !strings.Contains(
		err.Error(), "another BPF file system",
	) {
		t.Errorf("unloaded by another BPF file system: got %v, want an error that says so", err)
	}
	if sockets, err := Unload(within(t, 10*time.Second), folder, name); err != nil || sockets != 0 {
		t.Errorf("unloaded: got %d sockets, %v, want none", sockets, err)
	}
	if isAvailable(t, name) {
		t.Errorf("%s is still available after it was unloaded", name)
	}
	if _, err := Unload(t.Context(), folder, name); !errors.Is(err, ErrNotLoaded) {
		t.Errorf("unloaded a second time: got %v, want %v", err, ErrNotLoaded)
	}
}

func TestUnloadingWhileSocketsUseIt(t *testing.T) {
	folder := bpffs(t)
	name := uniqueName("use")
	load := func() {
		l, err := Load(CubicRTT, Options{Name: name, Parameters: CubicRTT.Defaults(), Pin: true, BPFFS: folder})
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close()
	}
	load()
	n := testnet.New(t, testnet.Options{})
	client, server := n.Connect(testnet.Dial{CongestionControl: name})
	testnet.MustSend(t, client, server, 64<<10)
	sockets, err := Unload(within(t, 10*time.Second), folder, name)
	if err != nil || sockets < 2 {
		t.Errorf("unloaded: got %d sockets, %v, want both ends", sockets, err)
	}
	testnet.MustSend(t, client, server, 4<<20)
	if got := testnet.CongestionControl(t, client); got != name {
		t.Errorf("the socket has %s, want %s until it closes", got, name)
	}
	// The name is free, and a new congestion control of this name has no sockets yet.
	load()
	if e, err := Find(folder, name); err != nil || e.Sockets != 0 {
		t.Errorf("loaded again: got %+v, %v, want no sockets", e, err)
	}
	if _, err := Unload(within(t, 10*time.Second), folder, name); err != nil {
		t.Error(err)
	}
}

func TestOfManyLoadersAtOnceOneSucceeds(t *testing.T) {
	name := uniqueName("two")
	var (
		all    sync.WaitGroup
		mu     sync.Mutex
		loaded []*Loaded
	)
	for range 4 {
		all.Go(func() {
			l, err := Load(CubicPlain, Options{Name: name, Parameters: CubicPlain.Defaults()})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				loaded = append(loaded, l)
			} else if !errors.Is(err, ErrInUse) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(loaded) != 1 {
		t.Fatalf("%d of 4 loaders succeeded, want 1", len(loaded))
	}
	e := find(t, name)
	if len(e.Processes) != 1 || e.Processes[0] != os.Getpid() || e.Pin != "" {
		t.Errorf("held by processes %v, pin %q, want only this process, %d", e.Processes, e.Pin, os.Getpid())
	}
	if _, err := Unload(t.Context(), "", name); err == nil || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("unloaded while held: got %v, want an error with the PID", err)
	}
	if err := loaded[0].Close(); err != nil {
		t.Fatal(err)
	}
	testnet.Eventually(t, 10*time.Second, "the name to be free", func() bool { return !isAvailable(t, name) })
}

func TestCongestionControlsOfTheKernelStay(t *testing.T) {
	if _, err := Unload(t.Context(), "", "cubic"); !errors.Is(err, ErrNotLoaded) || !strings.Contains(
		err.Error(), "kernel's own",
	) {
		t.Errorf("unloading cubic: got %v, want an error that calls it the kernel's own", err)
	}
	_, err := Load(CubicPlain, Options{Name: "cubic", Parameters: CubicPlain.Defaults()})
	if !errors.Is(err, ErrInUse) {
		t.Errorf("loading as cubic: got %v, want %v", err, ErrInUse)
	}
	if !isAvailable(t, "cubic") {
		t.Error("cubic is not available any more")
	}
}
