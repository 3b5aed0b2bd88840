package diag

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/tcp"
	"airtide/test/testnet"
)

// observeUnprivileged runs as nobody. It prints its view of its own connection and of its parent's,
// with the port in the environment, and the result of a request for all namespaces.
func observeUnprivileged() {
	fail := func(err error) {
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	port, err := strconv.Atoi(os.Getenv("DIAG_TEST_PORT"))
	fail(err)
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	fail(err)
	own, err := net.Dial("tcp4", l.Addr().String())
	fail(err)
	s, err := New(
		Options{
			Interval: 10 * time.Millisecond, Filter: filter.Filter{Ports: []uint16{portOf(l.Addr()), uint16(port)}},
		},
	)
	fail(err)
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	r := newRecorder()
	fail(s.Run(ctx, r))
	mine, _ := r.find(own.LocalAddr())
	var foreign tcp.Flow
	for _, f := range r.flows {
		if f.Remote.Port() == uint16(port) {
			foreign = f
		}
	}
	last, _ := r.last(foreign.ID)
	_, all := New(Options{AllNamespaces: true})
	fmt.Println(os.Getuid(), mine.PID == uint32(os.Getpid()), foreign.PID, foreign.Inode != 0,
		last.Values[tcp.CwndPackets] > 0, last.Values[tcp.SrttUs] > 0,
		last.Values[tcp.SendMemoryBytes] >= 0, errors.Is(all, ErrNeedRoot))
}

func setCongestionControl(c *net.TCPConn, name string) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var set error
	if err := raw.Control(
		func(fd uintptr) { set = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, name) },
	); err != nil {
		return err
	}
	return set
}

func TestBBRShowsItsPrivateState(t *testing.T) {
	client, server := connect(t, "tcp4", "127.0.0.1:0")
	if err := setCongestionControl(client, "bbr"); err != nil {
		t.Skipf("this kernel has no BBR: %v", err)
	}
	r, _, _ := start(t, Options{Filter: onlyPort(server.LocalAddr())})
	transfer(t, client, server, 50<<20)
	f, _ := r.find(client.LocalAddr())
	eventually(t, "BBR's bandwidth", func() bool {
		s, ok := r.last(f.ID)
		return ok && s.Values[tcp.BBRBandwidthBps] > 1e6 && s.Values[tcp.BBRMinRttUs] != tcp.Absent &&
			s.Values[tcp.BBRCwndGainPct] >= 100
	})
	if s, _ := r.last(f.ID); s.Values[tcp.BBRMode] != tcp.Absent || s.Values[tcp.CubicKMs] != tcp.Absent {
		t.Errorf("bbr_mode %d, cubic_k_ms %d, want both absent", s.Values[tcp.BBRMode], s.Values[tcp.CubicKMs])
	}
}

// TestValuesAgreeWithSS compares the last sample of a quiet connection with the output of ss.
func TestValuesAgreeWithSS(t *testing.T) {
	if _, err := exec.LookPath("ss"); err != nil {
		t.Skip("needs ss of iproute2")
	}
	client, server := connect(t, "tcp4", "127.0.0.1:0")
	transfer(t, client, server, 3<<20)
	eventually(t, "all data is acknowledged", func() bool { return testnet.Info(t, client).Unacked == 0 })
	r, _, stop := start(t, Options{Filter: onlyPort(server.LocalAddr())})
	eventually(t, "a sample", func() bool { f, _ := r.find(client.LocalAddr()); _, ok := r.last(f.ID); return ok })
	stop()
	port := fmt.Sprint(portOf(client.LocalAddr()))
	out, err := exec.Command("ss", "-Htinm", "sport", "=", port).Output()
	if err != nil {
		t.Fatal(err)
	}
	f, _ := r.find(client.LocalAddr())
	s, _ := r.last(f.ID)
	for _, c := range []struct {
		pattern string
		field   tcp.Field
		scale   float64
	}{
		{`\brtt:([0-9.]+)/`, tcp.SrttUs, 1000},
		{`\brtt:[0-9.]+/([0-9.]+)`, tcp.RttvarUs, 1000},
		{`\bminrtt:([0-9.]+)`, tcp.MinRttUs, 1000},
		{`\brto:([0-9.]+)`, tcp.RTOUs, 1000},
		{`\bcwnd:([0-9]+)`, tcp.CwndPackets, 1},
		{`\bmss:([0-9]+)`, tcp.MSSBytes, 1},
		{`\bbytes_acked:([0-9]+)`, tcp.AckedBytes, 1},
		{`\bdelivered:([0-9]+)`, tcp.DeliveredPackets, 1},
		{`\bdelivery_rate ([0-9]+)bps`, tcp.DeliveryRateBps, 1},
		{`\bpacing_rate ([0-9]+)bps`, tcp.PacingRateBps, 1},
		{`\bsnd_wnd:([0-9]+)`, tcp.SendWindowBytes, 1},
		{`\bskmem:\(r\d+,rb(\d+)`, tcp.ReceiveBufferBytes, 1},
		{`\bskmem:\(r\d+,rb\d+,t\d+,tb(\d+)`, tcp.SendBufferBytes, 1},
	} {
		m := regexp.MustCompile(c.pattern).FindSubmatch(out)
		if m == nil {
			if c.field != tcp.SendWindowBytes { // ss 6.1 does not print it
				t.Errorf("ss prints no %v: %s", c.field, out)
			}
			continue
		}
		want, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			t.Fatal(err)
		}
		got := float64(s.Values[c.field])
		if math.Abs(got-want*c.scale) > math.Max(1, want*c.scale*1e-5) { // ss prints six digits
			t.Errorf("%v: %.0f, ss says %v: %s", c.field, got, want*c.scale, out)
		}
	}
}
