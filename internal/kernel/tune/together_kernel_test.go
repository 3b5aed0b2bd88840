//go:build kernel

package tune

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"airtide/test/testnet"
)

func lowat(n uint32) Settings { return Settings{NotSentLowatBytes: n} }

// Two tunes of one socket may end in any order: the later one counts while it is in force, and the
// end of the last restores the socket's own value.
func TestTwoTunesOfOneSocketEndInAnyOrder(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	const own, first, second = 4000, 5000, 6000
	for _, order := range []struct {
		name      string
		olderEnds bool
		between   int
	}{{"the older first", true, second}, {"the later first", false, first}} {
		t.Run(order.name, func(t *testing.T) {
			conn, end := n.Connect(cubic)
			defer abort(t, conn, end)
			testnet.SetOption(t, conn, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, own)
			a := mustApply(t, client(n), lowat(first), Options{BPFFS: mount})
			b := mustApply(t, client(n), lowat(second), Options{BPFFS: mount})
			checkLowat(t, conn, second)
			if v := of(t, mustReport(t, a), conn).value(t, "notsent_lowat_bytes"); !v.Later || !v.OK {
				t.Errorf("the older tune reports %+v, want it in force and replaced by a later one", v)
			}
			one := a
			other := b
			if !order.olderEnds {
				one = b
				other = a
			}
			mustClose(t, one)
			checkLowat(t, conn, order.between)
			if s := of(t, mustReport(t, other), conn); s.Failed() {
				t.Errorf("the remaining tune reports a failed socket: %+v", s)
			}
			mustClose(t, other)
			checkLowat(t, conn, own)
		})
	}
}

// The end of a tune leaves the settings of other tunes of the same socket in force.
func TestTwoTunesOfDifferentSettings(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	conn, _ := n.Connect(cubic)
	a := mustApply(t, client(n), Settings{CongestionControl: "reno"}, Options{BPFFS: mount})
	mustApply(t, client(n), lowat(7000), Options{BPFFS: mount})
	mustClose(t, a)
	checkLowat(t, conn, 7000)
	checkControl(t, conn, "cubic")
}

func TestTwoTunesOfTheCongestionControl(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	conn, _ := n.Connect(cubic)
	a := mustApply(t, client(n), Settings{CongestionControl: "reno"}, Options{BPFFS: mount})
	b := mustApply(t, client(n), Settings{CongestionControl: "bbr"}, Options{BPFFS: mount})
	mustClose(t, a)
	checkControl(t, conn, "bbr")
	mustClose(t, b)
	checkControl(t, conn, "cubic")
}

// A value that the program itself has set since the tune began is reported, and stays.
func TestAProgramsOwnChangeStays(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	conn, _ := n.Connect(cubic)
	a := mustApply(t, client(n), lowat(5000), Options{BPFFS: mount})
	testnet.SetOption(t, conn, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, 9000)
	v := of(t, mustReport(t, a), conn).value(t, "notsent_lowat_bytes")
	if v.OK || v.Now != int64(9000) || v.Error == "" {
		t.Errorf("reported as %+v, want 9000 now with an error", v)
	}
	mustClose(t, a)
	checkLowat(t, conn, 9000)
}

func TestTooManyTunesOfOneSocket(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	conn, _ := n.Connect(cubic)
	const slots = 4 // TUNE_SLOTS
	for i := range uint32(slots) {
		mustApply(t, client(n), lowat(5000+i), Options{BPFFS: mount})
	}
	a := mustApply(t, client(n), lowat(9000), Options{BPFFS: mount})
	r := mustReport(t, a)
	if r.Counts.NoRoom != 1 || r.Counts.Matched != 1 || len(r.Sockets) != 0 || !r.Failed() {
		t.Errorf("counted %+v, want one matched socket without room", r.Counts)
	}
	checkLowat(t, conn, 5000+slots-1)
}

// Another process can undo a tune by its ID. The tune's own end then has nothing to do.
func TestATuneCanBeUndoneByAnotherProcess(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	conn, _ := n.Connect(cubic)
	before := testnet.Option(t, conn, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT)
	a := mustApply(t, client(n), lowat(5000), Options{BPFFS: mount})
	if done, err := UndoAll(t.Context(), mount, false); err != nil || len(done) != 0 {
		t.Errorf("UndoAll undid %+v, %v, want nothing of a running process", done, err)
	}
	if u, err := Undo(t.Context(), mount, a.ID); err != nil || u.Sockets != 1 {
		t.Errorf("undone: got %+v, %v, want one socket", u, err)
	}
	fresh, _ := n.Connect(cubic)
	checkLowat(t, conn, before)
	checkLowat(t, fresh, before)
	if _, err := Undo(t.Context(), mount, a.ID); !errors.Is(err, ErrNoSuch) {
		t.Errorf("undone a second time: got %v, want %v", err, ErrNoSuch)
	}
	mustClose(t, a)
}

func TestShow(t *testing.T) {
	mount := bpffs(t)
	if all, err := Show(t.Context(), mount); err != nil || len(all) != 0 {
		t.Errorf("without a tune Show returns %+v, %v", all, err)
	}
	n := network(t)
	conn, _ := n.Connect(testnet.Dial{CongestionControl: "reno"})
	a := mustApply(t, client(n), lowat(5000), Options{BPFFS: mount})
	b := mustApply(t, client(n), Settings{CongestionControl: "cubic"}, Options{BPFFS: mount, Keep: true})
	all, err := Show(t.Context(), mount)
	if err != nil || len(all) != 2 || all[0].ID != a.ID || all[1].ID != b.ID || !all[1].Keep || !all[0].Running {
		t.Fatalf("shown are %+v, %v, want %s, which runs, and %s, which is kept", all, err, a.ID, b.ID)
	}
	for i := range all {
		if s := of(t, &all[i], conn); s.Failed() || all[i].Counts.Changed != 1 {
			t.Errorf("shown as %+v, want one changed socket", all[i])
		}
	}
	// A tune with Keep stays in force after Close.
	mustClose(t, b)
	fresh, _ := n.Connect(testnet.Dial{CongestionControl: "reno"})
	checkControl(t, fresh, "cubic")
	if done, err := UndoAll(
		t.Context(), mount, false,
	); err != nil || len(done) != 1 || done[0].ID != b.ID || done[0].Sockets != 2 {
		t.Errorf("undone: got %+v, %v, want two sockets of %s", done, err, b.ID)
	}
	checkControl(t, conn, "reno")
}
