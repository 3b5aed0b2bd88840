//go:build kernel

package tune

import (
	"testing"

	"golang.org/x/sys/unix"

	"airtide/test/testnet"
)

// The kernel moves a window clamp when it learns how much memory segments take. The tune sets it
// again, so the sender never sees a larger window.
func TestAWindowClampIsHeld(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	conn, end := n.Connect(cubic)
	const clamp = 24 << 10
	server := Selection{}
	server.NetNS = []uint32{n.Server.NetNS}
	a := mustApply(t, server, Settings{WindowClampBytes: clamp}, Options{BPFFS: mount})
	for range 3 {
		testnet.MustSend(t, conn, end, 4<<20)
		testnet.Eventually(t, patience, "the clamp to be held", func() bool {
			return testnet.Option(t, end, unix.IPPROTO_TCP, unix.TCP_WINDOW_CLAMP) == clamp
		})
	}
	testnet.MustSend(t, conn, end, 1<<20)
	if got := testnet.Info(t, conn).Snd_wnd; got > clamp {
		t.Errorf("the sender sees a window of %d bytes, want at most %d", got, clamp)
	}
	mustClose(t, a)
	if got := testnet.Option(t, end, unix.SOL_SOCKET, unix.SO_BUF_LOCK); got != 0 {
		t.Errorf("SO_BUF_LOCK after the tune: got %d, want 0", got)
	}
	testnet.MustSend(t, conn, end, 8<<20)
	if got := testnet.Info(t, conn).Snd_wnd; got <= clamp {
		t.Errorf("after the tune the sender sees a window of %d bytes, want more than %d", got, clamp)
	}
}
