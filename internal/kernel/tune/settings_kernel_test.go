//go:build kernel

package tune

import (
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"airtide/test/testnet"
)

// ask reads a setting by the option of a socket.
type ask func(*testing.T, *net.TCPConn) int

func asked(level, name int) ask {
	return func(t *testing.T, c *net.TCPConn) int { return testnet.Option(t, c, level, name) }
}

// tcpRTOMax is TCP_RTO_MAX_MS, which package unix does not have yet.
const tcpRTOMax = 44

// Every setting takes effect on an existing and on a new socket, is read back, and is restored.
func TestEverySettingComesAndGoes(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	for _, c := range []struct {
		set  Settings
		name string
		want int64
		ask  ask // nil without such an option
		seen int // the option's value for the process of the socket
	}{
		{Settings{CwndMaxPackets: 7}, "cwnd_max_packets", 7, nil, 0},
		{
			Settings{PacingRateBps: 80_000_000},
			"pacing_rate_bps", 80_000_000,
			asked(unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE), 10_000_000,
		},
		{
			Settings{SendBufferBytes: 50_000},
			"send_buffer_bytes", 50_000, asked(unix.SOL_SOCKET, unix.SO_SNDBUF),
			100_000,
		},
		{
			Settings{ReceiveBufferBytes: 60_000},
			"receive_buffer_bytes", 60_000,
			asked(unix.SOL_SOCKET, unix.SO_RCVBUF), 120_000,
		},
		{
			Settings{NotSentLowatBytes: 16384},
			"notsent_lowat_bytes", 16384,
			asked(unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT), 16384,
		},
		{
			Settings{WindowClampBytes: 20_000},
			"window_clamp_bytes", 20_000,
			asked(unix.IPPROTO_TCP, unix.TCP_WINDOW_CLAMP), 20_000,
		},
		{Settings{MinRTOUs: 40_000}, "min_rto_us", 40_000, nil, 0},
		{Settings{MaxRTOUs: 5_000_000}, "max_rto_us", 5_000_000, asked(unix.IPPROTO_TCP, tcpRTOMax), 5000},
		{Settings{MaxDelayedAckUs: 20_000}, "max_delayed_ack_us", 20_000, nil, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.set.MaxRTOUs > 0 && !knowsRTOMax(t) {
				t.Skip("this kernel has no maximum RTO of a socket (Linux 6.15 has)")
			}
			live, liveEnd := n.Connect(cubic)
			defer abort(t, live, liveEnd)
			before := 0
			if c.ask != nil {
				before = c.ask(t, live)
				if before == c.seen {
					t.Fatalf("the option is %d before the tune, want another value", before)
				}
			}
			a := mustApply(t, client(n), c.set, Options{BPFFS: mount})
			fresh, freshEnd := n.Connect(cubic)
			defer abort(t, fresh, freshEnd)
			r := mustReport(t, a)
			if r.Counts.Matched != 2 || r.Counts.Changed != 2 || r.Counts.New != 1 || r.Counts.Gone != 0 {
				t.Errorf("counted %+v, want 2 matched and changed, 1 of them new", r.Counts)
			}
			for _, socket := range []*net.TCPConn{live, fresh} {
				v := of(t, r, socket).value(t, c.name)
				if v.Want != c.want || v.Now != c.want || !v.OK {
					t.Errorf("reported as %+v, want %d in force", v, c.want)
				}
				if c.ask != nil {
					if got := c.ask(t, socket); got != c.seen {
						t.Errorf("option: got %d, want %d", got, c.seen)
					}
				}
			}
			mustClose(t, a)
			if c.ask == nil {
				return
			}
			if got := c.ask(t, live); got != before {
				t.Errorf("option after the tune: got %d, want %d", got, before)
			}
			// The kernel sizes the buffers again.
			for _, socket := range []*net.TCPConn{live, fresh} {
				if got := testnet.Option(t, socket, unix.SOL_SOCKET, unix.SO_BUF_LOCK); got != 0 {
					t.Errorf("SO_BUF_LOCK after the tune: got %d, want 0", got)
				}
			}
		})
	}
}

// Settings without a socket option are restored too. A second tune reads them.
func TestSettingsWithoutASocketOptionAreRestored(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	live, _ := n.Connect(cubic)
	all := Settings{CwndMaxPackets: 7, MinRTOUs: 40_000, MaxDelayedAckUs: 20_000}
	read := func() (found []Value) {
		a := mustApply(t, client(n), all, Options{BPFFS: mount})
		found = of(t, mustReport(t, a), live).Values
		mustClose(t, a)
		return found
	}
	first := read()
	for i, v := range read() {
		if v.Before != first[i].Before || v.Before == v.Want {
			t.Errorf("%s after a tune: got %v, want %v", v.Name, v.Before, first[i].Before)
		}
	}
}

func TestCongestionControlComesAndGoes(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	live, _ := n.Connect(cubic)
	a := mustApply(t, client(n), Settings{CongestionControl: "reno"}, Options{BPFFS: mount})
	fresh, _ := n.Connect(cubic)
	for _, c := range []*net.TCPConn{live, fresh} {
		checkControl(t, c, "reno")
		v := of(t, mustReport(t, a), c).value(t, "congestion_control")
		if v.Before != "cubic" || v.Now != "reno" || !v.OK {
			t.Errorf("reported as %+v, want reno in force and cubic before", v)
		}
	}
	mustClose(t, a)
	for _, c := range []*net.TCPConn{live, fresh} {
		checkControl(t, c, "cubic")
	}
}

func TestNewSocketsBeginWithTheInitialWindow(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	live, _ := n.Connect(cubic)
	a := mustApply(t, client(n), Settings{InitialWindowPackets: 33}, Options{BPFFS: mount})
	fresh, _ := n.Connect(cubic)
	if got := testnet.Info(t, fresh).Snd_cwnd; got != 33 {
		t.Errorf("cwnd of a new socket: got %d, want 33", got)
	}
	if got := testnet.Info(t, live).Snd_cwnd; got == 33 {
		t.Error("the initial window changed cwnd of an existing socket")
	}
	if v := of(t, mustReport(t, a), fresh).value(t, "initial_window_packets"); !v.OK || v.Now != int64(33) {
		t.Errorf("reported as %+v, want 33 in force", v)
	}
}

func knowsRTOMax(t *testing.T) bool {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	_, err = unix.GetsockoptInt(fd, unix.IPPROTO_TCP, tcpRTOMax)
	if err != nil && err != unix.ENOPROTOOPT {
		t.Fatal(err)
	}
	return err == nil
}
