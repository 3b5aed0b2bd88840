//go:build kernel

package tune

import (
	"net"
	"strings"
	"testing"
	"time"

	"airtide/test/testnet"
)

// losing is a network whose client's flows have lost something, and so have an ssthresh to lose.
func losing(t *testing.T) *testnet.Network {
	t.Helper()
	n := testnet.New(t, testnet.Options{Segments: true})
	n.Client.Out.Delay(4 * time.Millisecond)
	return n
}

const (
	some  = 512 << 10
	unset = 1 << 30 // ssthresh before any loss is TCP_INFINITE_SSTHRESH
)

// lose gives a flow an ssthresh by a loss. One that the kernel takes back, for it came late on a
// busy machine, is repeated.
func lose(t *testing.T, n *testnet.Network, conn, end *net.TCPConn) uint32 {
	t.Helper()
	for range 10 {
		n.Client.Out.DropData(100, 1)
		testnet.MustSend(t, conn, end, some)
		if ssthresh := testnet.Info(t, conn).Snd_ssthresh; ssthresh < unset {
			return ssthresh
		}
	}
	t.Fatal("no loss left an ssthresh")
	return 0
}

func TestCubicBoundKeepsSsthresh(t *testing.T) {
	mount := bpffs(t)
	name := loadBound(t)
	n := losing(t)
	conn, end := n.Connect(testnet.Dial{CongestionControl: name})
	free := lose(t, n, conn, end)

	a := mustApply(t, client(n), Settings{CwndMinPackets: 4, CwndMaxPackets: 8}, Options{BPFFS: mount})
	testnet.MustSend(t, conn, end, some)
	s := of(t, mustReport(t, a), conn)
	for _, v := range s.Values {
		if !v.OK || v.By != byBounds {
			t.Errorf("reported as %+v", v)
		}
	}
	if i := testnet.Info(t, conn); i.Snd_cwnd > 8 || i.Snd_ssthresh < free {
		t.Errorf("the window is %d, and ssthresh went from %d to %d", i.Snd_cwnd, free, i.Snd_ssthresh)
	}
	mustClose(t, a)
	testnet.MustSend(t, conn, end, some)
	if i := testnet.Info(t, conn); i.Snd_cwnd <= 8 || i.Snd_ssthresh < free {
		t.Errorf("lifted, the window is %d, and ssthresh %d of %d", i.Snd_cwnd, i.Snd_ssthresh, free)
	}

	a = mustApply(t, client(n), Settings{CwndMinPackets: 40}, Options{BPFFS: mount})
	n.Client.Out.DropEvery(60)
	testnet.MustSend(t, conn, end, some)
	n.Client.Out.DropEvery(0)
	testnet.MustSend(t, conn, end, 128<<10)
	if i := testnet.Info(t, conn); i.Snd_cwnd < 40 {
		t.Errorf("with a lower bound of 40 the window is %d after losses", i.Snd_cwnd)
	}
	if v := of(t, mustReport(t, a), conn).value(t, "cwnd_min_packets"); !v.OK || v.Now != int64(40) {
		t.Errorf("reported as %+v", v)
	}
}

func TestNewSocketsOfCubicBoundAreBounded(t *testing.T) {
	mount := bpffs(t)
	name := loadBound(t)
	n := losing(t)
	a := mustApply(t, client(n), Settings{CwndMaxPackets: 6}, Options{BPFFS: mount})
	conn, end := n.Connect(testnet.Dial{CongestionControl: name})
	testnet.MustSend(t, conn, end, some)
	if i := testnet.Info(t, conn); i.Snd_cwnd > 6 {
		t.Errorf("the window is %d", i.Snd_cwnd)
	}
	if v := of(t, mustReport(t, a), conn).value(t, "cwnd_max_packets"); !v.OK || v.By != byBounds {
		t.Errorf("reported as %+v", v)
	}
}

// A socket that is given cubic_bound is bounded by it at once, and has its own back afterwards.
func TestCongestionControlAndBoundsTogether(t *testing.T) {
	mount := bpffs(t)
	name := loadBound(t)
	n := losing(t)
	conn, end := n.Connect(cubic)
	a := mustApply(t, client(n), Settings{CongestionControl: name, CwndMaxPackets: 6}, Options{BPFFS: mount})
	testnet.MustSend(t, conn, end, some)
	s := of(t, mustReport(t, a), conn)
	if v := s.value(
		t, "cwnd_max_packets",
	); s.CongestionControl != name || s.Failed() || v.By != byBounds || s.CwndPackets > 6 {
		t.Errorf("reported as %+v", s)
	}
	mustClose(t, a)
	testnet.MustSend(t, conn, end, some)
	if i := testnet.Info(t, conn); testnet.CongestionControl(t, conn) != "cubic" || i.Snd_cwnd <= 6 {
		t.Errorf("afterwards it is %s with a window of %d", testnet.CongestionControl(t, conn), i.Snd_cwnd)
	}
}

func TestTheSocketOptionOverwritesSsthresh(t *testing.T) {
	mount := bpffs(t)
	n := losing(t)
	conn, end := n.Connect(cubic)
	if free := lose(t, n, conn, end); free == 8 {
		t.Fatalf("the loss left ssthresh at %d", free)
	}
	a := mustApply(t, client(n), Settings{CwndMaxPackets: 8}, Options{BPFFS: mount})
	r := mustReport(t, a)
	if v := of(t, r, conn).value(t, "cwnd_max_packets"); !v.OK || v.By != byOption {
		t.Errorf("reported as %+v", v)
	}
	if i := testnet.Info(t, conn); i.Snd_ssthresh != 8 {
		t.Errorf("ssthresh is %d", i.Snd_ssthresh)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "overwrites ssthresh") {
		t.Errorf("it does not say so: %q, %v", text.String(), err)
	}
	testnet.MustSend(t, conn, end, some)
	if i := testnet.Info(t, conn); i.Snd_cwnd > 8 {
		t.Errorf("the window is %d", i.Snd_cwnd)
	}
	mustClose(t, a)
	testnet.MustSend(t, conn, end, some)
	if i := testnet.Info(t, conn); i.Snd_cwnd <= 8 {
		t.Errorf("lifted, the window stays at %d", i.Snd_cwnd)
	}
}

func TestThereIsNoLowerBoundWithoutCubicBound(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	conn, _ := n.Connect(cubic)
	a := mustApply(t, client(n), Settings{CwndMinPackets: 4, CwndMaxPackets: 50}, Options{BPFFS: mount})
	r := mustReport(t, a)
	s := of(t, r, conn)
	if v := s.value(t, "cwnd_min_packets"); v.OK || !strings.Contains(v.Error, "cubic_bound") {
		t.Errorf("reported as %+v", v)
	}
	if v := s.value(t, "cwnd_max_packets"); !v.OK {
		t.Errorf("reported as %+v", v)
	}
	if r.Counts.Failed != 1 || r.Counts.Changed != 0 || !r.Failed() {
		t.Errorf("counted %+v", r.Counts)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "failed: "+s.Local.String()) {
		t.Errorf("it does not name the socket: %q, %v", text.String(), err)
	}
}
