//go:build kernel

package tune

import (
	"context"
	"encoding/json"
	"os"
	"syscall"
	"testing"

	"airtide/test/testnet"
)

func order(t *testing.T, s Selection, to Settings, o Options) string {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"Selection": s, "Settings": to, "Options": o})
	if err != nil {
		t.Fatal(err)
	}
	return "AIRTIDE_TUNE_TEST_ORDER=" + string(raw)
}

func TestWhatAKilledProcessLeavesIsTakenBackByTheNext(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	conn, end := n.Connect(cubic)
	before := lowatOf(t, conn)
	server := Selection{}
	server.NetNS = []uint32{n.Server.NetNS}
	// What is kept, and what a running process has set, is none of its business.
	kept := mustApply(t, server, Settings{CongestionControl: "reno"}, Options{BPFFS: mount, Keep: true})
	mustClose(t, kept)
	running := mustApply(t, server, lowat(7777), Options{BPFFS: mount})

	killed := start(
		t, n.Client, "tuner",
		order(t, client(n), Settings{NotSentLowatBytes: picked, SendBufferBytes: 64 << 10}, Options{BPFFS: mount}),
	)
	id := killed.line()
	if got := lowatOf(t, conn); got != picked {
		t.Fatalf("it is %d (%s)", got, id)
	}
	_ = killed.cmd.Process.Kill()
	_ = killed.cmd.Wait()
	// New sockets are let be at once, and what was changed is remembered.
	fresh, _ := n.Connect(cubic)
	if got := lowatOf(t, fresh); got != before {
		t.Errorf("a new socket has %d", got)
	}
	if all, err := Show(t.Context(), mount); err != nil || len(all) != 3 || all[2].ID != id || all[2].Running {
		t.Errorf("shown are %+v, %v", all, err)
	}

	a := mustApply(t, client(n), Settings{MaxDelayedAckUs: 100_000}, Options{BPFFS: mount})
	if len(a.Removed) != 1 || a.Removed[0].ID != id || a.Removed[0].Sockets != 1 || a.Removed[0].FixedBuffers != 0 {
		t.Errorf("removed are %+v", a.Removed)
	}
	if got := lowatOf(t, conn); got != before {
		t.Errorf("it is %d, and was %d", got, before)
	}
	if testnet.CongestionControl(t, end) != "reno" || lowatOf(t, end) != 7777 {
		t.Error("another's changes are taken back")
	}
	mustClose(t, running)
	if done, err := UndoAll(t.Context(), mount, false); err != nil || len(done) != 1 || done[0].ID != kept.ID {
		t.Errorf("%+v, %v", done, err)
	}
}

func TestUndoAfterAKill(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	conn, _ := n.Connect(cubic)
	killed := start(
		t, n.Client, "tuner", order(t, client(n), Settings{CongestionControl: "reno"}, Options{BPFFS: mount}),
	)
	id := killed.line()
	if got := testnet.CongestionControl(t, conn); got != "reno" {
		t.Fatalf("it is %s (%s)", got, id)
	}
	_ = killed.cmd.Process.Kill()
	_ = killed.cmd.Wait()
	done, err := UndoAll(t.Context(), mount, false)
	if err != nil || len(done) != 1 || done[0].ID != id {
		t.Errorf("%+v, %v", done, err)
	}
	if got := testnet.CongestionControl(t, conn); got != "cubic" {
		t.Errorf("it is %s", got)
	}
	if files, err := os.ReadDir(storeAt(mount)); err != nil || len(files) != 1 || files[0].Name() != storageFile {
		t.Errorf("left are %v, %v", files, err)
	}
}

// A process that is number 1 of its PID namespace is not taken for number 1 of the machine.
func TestAProcessInItsOwnPIDNamespace(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	tuner := startIn(
		t, n.Client, syscall.CLONE_NEWPID, "tuner",
		order(t, client(n), Settings{CongestionControl: "reno"}, Options{BPFFS: mount}),
	)
	id := tuner.line()
	shows := func(running bool, state string) {
		t.Helper()
		all, err := Show(t.Context(), mount)
		if err != nil || len(all) != 1 || all[0].ID != id || all[0].Running != running || all[0].State() != state {
			t.Errorf("shown are %+v, %v; want %q", all, err, state)
		}
	}
	shows(true, "until process 1 ends, or airtide tune undo "+id)
	_ = tuner.cmd.Process.Kill()
	_ = tuner.cmd.Wait()
	shows(false, "left by process 1, which was killed: airtide tune undo or the next tune restores all")
	if done, err := UndoAll(t.Context(), mount, false); err != nil || len(done) != 1 || done[0].ID != id {
		t.Errorf("%+v, %v", done, err)
	}
}

func TestInterruptTakesBack(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	conn, _ := n.Connect(cubic)
	o := start(t, n.Client, "tuner", order(t, client(n), Settings{CongestionControl: "reno"}, Options{BPFFS: mount}))
	o.line()
	_ = o.cmd.Process.Signal(syscall.SIGINT)
	if got := o.line(); got != "<nil>" || testnet.CongestionControl(t, conn) != "cubic" {
		t.Errorf("%s, and it is %s", got, testnet.CongestionControl(t, conn))
	}
}

// One that is interrupted while it begins has changed nothing in the end.
func TestACancelledApplyLeavesNothing(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	conn, _ := n.Connect(cubic)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Apply(ctx, client(n), Settings{CongestionControl: "reno"}, Options{BPFFS: mount}); err == nil {
		t.Error("it says nothing")
	}
	if got := testnet.CongestionControl(t, conn); got != "cubic" {
		t.Errorf("it is %s", got)
	}
	if all, err := Show(t.Context(), mount); err != nil || len(all) != 0 {
		t.Errorf("left are %+v, %v", all, err)
	}
}
