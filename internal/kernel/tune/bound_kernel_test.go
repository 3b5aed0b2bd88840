//go:build kernel

package tune

import (
	"net"
	"strings"
	"testing"
	"time"

	"airtide/test/testnet"
)

// losing makes a network with a delay of 4 ms, for flows that lose segments.
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

// lose gives a flow an ssthresh by a loss. On a busy machine the kernel may undo the reduction;
// then it loses another segment.
func lose(t *testing.T, n *testnet.Network, conn, end *net.TCPConn) uint32 {
	t.Helper()
	for range 10 {
		n.Client.Out.DropData(100, 1)
		testnet.MustSend(t, conn, end, some)
		if ssthresh := testnet.Info(t, conn).Snd_ssthresh; ssthresh < unset {
			return ssthresh
		}
	}
	t.Fatal("ssthresh is still unset after 10 losses")
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
			t.Errorf("reported as %+v, want it in force by %s", v, byBounds)
		}
	}
	if i := testnet.Info(t, conn); i.Snd_cwnd > 8 || i.Snd_ssthresh < free {
		t.Errorf("bounded: cwnd %d, ssthresh %d, want at most 8 and at least %d", i.Snd_cwnd, i.Snd_ssthresh, free)
	}
	mustClose(t, a)
	testnet.MustSend(t, conn, end, some)
	if i := testnet.Info(t, conn); i.Snd_cwnd <= 8 || i.Snd_ssthresh < free {
		t.Errorf("after the tune: cwnd %d, ssthresh %d, want more than 8 and at least %d",
			i.Snd_cwnd, i.Snd_ssthresh, free)
	}

	a = mustApply(t, client(n), Settings{CwndMinPackets: 40}, Options{BPFFS: mount})
	n.Client.Out.DropEvery(60)
	testnet.MustSend(t, conn, end, some)
	n.Client.Out.DropEvery(0)
	testnet.MustSend(t, conn, end, 128<<10)
	if i := testnet.Info(t, conn); i.Snd_cwnd < 40 {
		t.Errorf("cwnd after losses: got %d, want at least the lower bound of 40", i.Snd_cwnd)
	}
	if v := of(t, mustReport(t, a), conn).value(t, "cwnd_min_packets"); !v.OK || v.Now != int64(40) {
		t.Errorf("reported as %+v, want 40 in force", v)
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
		t.Errorf("cwnd: got %d, want at most 6", i.Snd_cwnd)
	}
	if v := of(t, mustReport(t, a), conn).value(t, "cwnd_max_packets"); !v.OK || v.By != byBounds {
		t.Errorf("reported as %+v, want it in force by %s", v, byBounds)
	}
}

// A socket that the tune changes to cubic_bound is bounded at once. Its own congestion control
// comes back after the tune.
func TestCongestionControlAndBoundsTogether(t *testing.T) {
	mount := bpffs(t)
	name := loadBound(t)
	n := losing(t)
	conn, end := n.Connect(cubic)
	a := mustApply(t, client(n), Settings{CongestionControl: name, CwndMaxPackets: 6}, Options{BPFFS: mount})
	testnet.MustSend(t, conn, end, some)
	s := of(t, mustReport(t, a), conn)
	v := s.value(t, "cwnd_max_packets")
	if s.CongestionControl != name || s.Failed() || v.By != byBounds || s.CwndPackets > 6 {
		t.Errorf("reported as %+v, want %s with at most 6 packets", s, name)
	}
	mustClose(t, a)
	testnet.MustSend(t, conn, end, some)
	if i := testnet.Info(t, conn); testnet.CongestionControl(t, conn) != "cubic" || i.Snd_cwnd <= 6 {
		t.Errorf("after the tune: %s with cwnd %d, want cubic with more than 6",
			testnet.CongestionControl(t, conn), i.Snd_cwnd)
	}
}

func TestTheSocketOptionOverwritesSsthresh(t *testing.T) {
	mount := bpffs(t)
	n := losing(t)
	conn, end := n.Connect(cubic)
	if free := lose(t, n, conn, end); free == 8 {
		t.Fatalf("ssthresh is %d before the tune, want another value", free)
	}
	a := mustApply(t, client(n), Settings{CwndMaxPackets: 8}, Options{BPFFS: mount})
	r := mustReport(t, a)
	if v := of(t, r, conn).value(t, "cwnd_max_packets"); !v.OK || v.By != byOption {
		t.Errorf("reported as %+v, want it in force by %s", v, byOption)
	}
	if i := testnet.Info(t, conn); i.Snd_ssthresh != 8 {
		t.Errorf("ssthresh: got %d, want 8", i.Snd_ssthresh)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "overwrites ssthresh") {
		t.Errorf("report %q, %v, want the words \"overwrites ssthresh\"", text.String(), err)
	}
	testnet.MustSend(t, conn, end, some)
	if i := testnet.Info(t, conn); i.Snd_cwnd > 8 {
		t.Errorf("cwnd: got %d, want at most 8", i.Snd_cwnd)
	}
	mustClose(t, a)
	testnet.MustSend(t, conn, end, some)
	if i := testnet.Info(t, conn); i.Snd_cwnd <= 8 {
		t.Errorf("cwnd after the tune: got %d, want more than 8", i.Snd_cwnd)
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
		t.Errorf("reported as %+v, want an error that names cubic_bound", v)
	}
	if v := s.value(t, "cwnd_max_packets"); !v.OK {
		t.Errorf("reported as %+v, want it in force", v)
	}
	if r.Counts.Failed != 1 || r.Counts.Changed != 0 || !r.Failed() {
		t.Errorf("counted %+v, want one failed socket", r.Counts)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "failed: "+s.Local.String()) {
		t.Errorf("report %q, %v, want the failed socket %s", text.String(), err, s.Local)
	}
}
