//go:build kernel

package tune

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"airtide/test/testnet"
)

func lowat(n uint32) Settings { return Settings{NotSentLowatBytes: n} }

// Two tunes of one socket may end in any order: what the later one has set counts as long as it is
// there, and the socket's own value comes back with the last.
func TestTwoAtOnceEndInAnyOrder(t *testing.T) {
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
			ask := asked(unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT)
			testnet.SetOption(t, conn, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, own)
			a := mustApply(t, client(n), lowat(first), Options{BPFFS: mount})
			b := mustApply(t, client(n), lowat(second), Options{BPFFS: mount})
			if got := ask(t, conn); got != second {
				t.Errorf("with both it is %d", got)
			}
			if v := of(t, mustReport(t, a), conn).value(t, "notsent_lowat_bytes"); !v.Later || !v.OK {
				t.Errorf("the older reports %+v", v)
			}
			one, other := a, b
			if !order.olderEnds {
				one, other = b, a
			}
			mustClose(t, one)
			if got := ask(t, conn); got != order.between {
				t.Errorf("with one it is %d, want %d", got, order.between)
			}
			if s := of(t, mustReport(t, other), conn); s.Failed() {
				t.Errorf("the other reports %+v", s)
			}
			mustClose(t, other)
			if got := ask(t, conn); got != own {
				t.Errorf("with none it is %d, want %d", got, own)
			}
		})
	}
}

// Tunes of different settings of one socket leave each other alone.
func TestTwoAtOnceOfDifferentSettings(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	conn, _ := n.Connect(cubic)
	a := mustApply(t, client(n), Settings{CongestionControl: "reno"}, Options{BPFFS: mount})
	mustApply(t, client(n), lowat(7000), Options{BPFFS: mount})
	mustClose(t, a)
	if got := testnet.Option(
		t, conn, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT,
	); got != 7000 || testnet.CongestionControl(t, conn) != "cubic" {
		t.Errorf("%s, %d", testnet.CongestionControl(t, conn), got)
	}
}

func TestCongestionControlsOfTwoAtOnce(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	conn, _ := n.Connect(cubic)
	a := mustApply(t, client(n), Settings{CongestionControl: "reno"}, Options{BPFFS: mount})
	b := mustApply(t, client(n), Settings{CongestionControl: "bbr"}, Options{BPFFS: mount})
	mustClose(t, a)
	if got := testnet.CongestionControl(t, conn); got != "bbr" {
		t.Errorf("it is %s", got)
	}
	mustClose(t, b)
	if got := testnet.CongestionControl(t, conn); got != "cubic" {
		t.Errorf("it is %s", got)
	}
}

// What the program has chosen for its socket since is not touched, and told.
func TestWhatAProgramHasChangedSinceStays(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	conn, _ := n.Connect(cubic)
	a := mustApply(t, client(n), lowat(5000), Options{BPFFS: mount})
	testnet.SetOption(t, conn, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT, 9000)
	if v := of(
		t, mustReport(t, a), conn,
	).value(t, "notsent_lowat_bytes"); v.OK || v.Now != int64(9000) || v.Error == "" {
		t.Errorf("reported as %+v", v)
	}
	mustClose(t, a)
	if got := testnet.Option(t, conn, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT); got != 9000 {
		t.Errorf("it is %d", got)
	}
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
		t.Errorf("counted %+v", r.Counts)
	}
	if got := testnet.Option(t, conn, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT); got != 5000+slots-1 {
		t.Errorf("it is %d", got)
	}
}

// A tune that another process has undone is over; its own end finds nothing to do.
func TestUndoneBySomebodyElse(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	conn, _ := n.Connect(cubic)
	before := testnet.Option(t, conn, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT)
	a := mustApply(t, client(n), lowat(5000), Options{BPFFS: mount})
	if done, err := UndoAll(t.Context(), mount, false); err != nil || len(done) != 0 {
		t.Errorf("a running process's tune is undone unasked: %+v, %v", done, err)
	}
	if u, err := Undo(t.Context(), mount, a.ID); err != nil || u.Sockets != 1 {
		t.Errorf("%+v, %v", u, err)
	}
	fresh, _ := n.Connect(cubic)
	for _, c := range []int{
		testnet.Option(t, conn, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT),
		testnet.Option(t, fresh, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT),
	} {
		if c != before {
			t.Errorf("it is %d", c)
		}
	}
	if _, err := Undo(t.Context(), mount, a.ID); !errors.Is(err, ErrNoSuch) {
		t.Errorf("undone twice: %v", err)
	}
	mustClose(t, a)
}

func TestShow(t *testing.T) {
	mount := bpffs(t)
	if all, err := Show(t.Context(), mount); err != nil || len(all) != 0 {
		t.Errorf("with nothing: %+v, %v", all, err)
	}
	n := network(t)
	conn, _ := n.Connect(testnet.Dial{CongestionControl: "reno"})
	a := mustApply(t, client(n), lowat(5000), Options{BPFFS: mount})
	b := mustApply(t, client(n), Settings{CongestionControl: "cubic"}, Options{BPFFS: mount, Keep: true})
	all, err := Show(t.Context(), mount)
	if err != nil || len(all) != 2 || all[0].ID != a.ID || all[1].ID != b.ID || !all[1].Keep || !all[0].Running {
		t.Fatalf("%+v, %v", all, err)
	}
	for i := range all {
		if s := of(t, &all[i], conn); s.Failed() || all[i].Counts.Changed != 1 {
			t.Errorf("shown as %+v", all[i])
		}
	}
	// What is kept outlives its process's hold on it.
	mustClose(t, b)
	fresh, _ := n.Connect(testnet.Dial{CongestionControl: "reno"})
	if got := testnet.CongestionControl(t, fresh); got != "cubic" {
		t.Errorf("a new socket has %s", got)
	}
	if done, err := UndoAll(
		t.Context(), mount, false,
	); err != nil || len(done) != 1 || done[0].ID != b.ID || done[0].Sockets != 2 {
		t.Errorf("%+v, %v", done, err)
	}
	if got := testnet.CongestionControl(t, conn); got != "reno" {
		t.Errorf("it is %s", got)
	}
}
