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

func TestTheNextTuneRestoresSocketsOfAKilledOne(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	conn, end := n.Connect(cubic)
	before := lowatOf(t, conn)
	server := Selection{}
	server.NetNS = []uint32{n.Server.NetNS}
	// Tunes that are kept and tunes of running processes stay in force.
	kept := mustApply(t, server, Settings{CongestionControl: "reno"}, Options{BPFFS: mount, Keep: true})
	mustClose(t, kept)
	running := mustApply(t, server, lowat(7777), Options{BPFFS: mount})

	killed := start(t, n.Client, "tuner",
		order(t, client(n), Settings{NotSentLowatBytes: picked, SendBufferBytes: 64 << 10}, Options{BPFFS: mount}))
	id := killed.line()
	checkLowat(t, conn, picked)
	_ = killed.cmd.Process.Kill()
	_ = killed.cmd.Wait()
	// New sockets are not changed any more, and the changed one is remembered.
	fresh, _ := n.Connect(cubic)
	checkLowat(t, fresh, before)
	if all, err := Show(t.Context(), mount); err != nil || len(all) != 3 || all[2].ID != id || all[2].Running {
		t.Errorf("shown are %+v, %v, want three with %s, which does not run", all, err, id)
	}

	a := mustApply(t, client(n), Settings{MaxDelayedAckUs: 100_000}, Options{BPFFS: mount})
	if len(a.Removed) != 1 || a.Removed[0].ID != id || a.Removed[0].Sockets != 1 || a.Removed[0].FixedBuffers != 0 {
		t.Errorf("removed are %+v, want one socket of %s", a.Removed, id)
	}
	checkLowat(t, conn, before)
	checkControl(t, end, "reno")
	checkLowat(t, end, 7777)
	mustClose(t, running)
	if done, err := UndoAll(t.Context(), mount, false); err != nil || len(done) != 1 || done[0].ID != kept.ID {
		t.Errorf("undone: got %+v, %v, want %s", done, err, kept.ID)
	}
}

func TestUndoAfterAKill(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	conn, _ := n.Connect(cubic)
	killed := start(t, n.Client, "tuner",
		order(t, client(n), Settings{CongestionControl: "reno"}, Options{BPFFS: mount}))
	id := killed.line()
	checkControl(t, conn, "reno")
	_ = killed.cmd.Process.Kill()
	_ = killed.cmd.Wait()
	done, err := UndoAll(t.Context(), mount, false)
	if err != nil || len(done) != 1 || done[0].ID != id {
		t.Errorf("undone: got %+v, %v, want %s", done, err, id)
	}
	checkControl(t, conn, "cubic")
	if files, err := os.ReadDir(storeAt(mount)); err != nil || len(files) != 1 || files[0].Name() != storageFile {
		t.Errorf("files of tunes: got %v, %v, want %s alone", files, err, storageFile)
	}
}

// Process 1 of a PID namespace is not taken for process 1 of the machine.
func TestAProcessInItsOwnPIDNamespace(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	tuner := startIn(t, n.Client, syscall.CLONE_NEWPID, "tuner",
		order(t, client(n), Settings{CongestionControl: "reno"}, Options{BPFFS: mount}))
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
		t.Errorf("undone: got %+v, %v, want %s", done, err, id)
	}
}

func TestAnInterruptRestoresSockets(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	conn, _ := n.Connect(cubic)
	o := start(t, n.Client, "tuner", order(t, client(n), Settings{CongestionControl: "reno"}, Options{BPFFS: mount}))
	o.line()
	_ = o.cmd.Process.Signal(syscall.SIGINT)
	if got := o.line(); got != "<nil>" || testnet.CongestionControl(t, conn) != "cubic" {
		t.Errorf("the tune ends with %s and leaves %s, want <nil> and cubic", got, testnet.CongestionControl(t, conn))
	}
}

// A tune that is interrupted while it begins changes nothing.
func TestACancelledApplyLeavesNothing(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	conn, _ := n.Connect(cubic)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Apply(ctx, client(n), Settings{CongestionControl: "reno"}, Options{BPFFS: mount}); err == nil {
		t.Error("a cancelled Apply returned no error")
	}
	checkControl(t, conn, "cubic")
	if all, err := Show(t.Context(), mount); err != nil || len(all) != 0 {
		t.Errorf("left are %+v, %v, want no tune", all, err)
	}
}
