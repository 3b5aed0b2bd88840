//go:build kernel

package tune

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"airtide/internal/kernel/sockets/filter"
	"airtide/test/testnet"
)

// nobody is an address in the test's network that never answers.
const nobody = "10.77.0.99:9"

// connecting opens a socket that waits for an answer, and returns its RTO in microseconds.
func connecting(t *testing.T, h *testnet.Host) uint32 {
	t.Helper()
	to := netip.MustParseAddrPort(nobody)
	var rto uint32
	err := h.Do(func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		err = unix.Connect(fd, &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()})
		if !errors.Is(err, unix.EINPROGRESS) {
			return err
		}
		i, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil {
			rto = i.Rto
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return rto
}

func TestInitialRTO(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	before := connecting(t, n.Client)
	a := mustApply(t, client(n), Settings{InitialRTOUs: 3_000_000}, Options{BPFFS: mount})
	if got := connecting(t, n.Client); got != 3_000_000 || got == before {
		t.Errorf("initial RTO: got %d us, want 3000000 and not the %d from before", got, before)
	}
	if got := connecting(t, n.Server); got != before {
		t.Errorf("initial RTO in another namespace: got %d us, want %d", got, before)
	}
	if r := mustReport(t, a); r.Counts.Handshakes != 1 {
		t.Errorf("counted %+v, want 1 handshake", r.Counts)
	}
	// A request without a socket yet is selected by its namespace and port.
	_, in := listen(t, n.Client)
	dial(t, n.Server, in)
	if r := mustReport(t, a); r.Counts.Handshakes != 2 {
		t.Errorf("counted %+v, want 2 handshakes", r.Counts)
	}
	mustClose(t, a)
	if got := connecting(t, n.Client); got != before {
		t.Errorf("initial RTO after the tune: got %d us, want %d", got, before)
	}
}

// A lower minimum takes effect on existing connections, by a quarter of the difference in each
// round trip. A higher one takes effect on new connections.
func TestMinimumRTOOnAShortPath(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	conn, end := n.Connect(cubic)
	a := mustApply(t, client(n), Settings{MinRTOUs: 40_000}, Options{BPFFS: mount})
	fresh, freshEnd := n.Connect(cubic)
	for range 20 { // round trips
		testnet.MustSend(t, conn, end, some)
	}
	testnet.MustSend(t, fresh, freshEnd, some)
	for what, got := range map[string]uint32{"live": testnet.Info(t, conn).Rto, "new": testnet.Info(t, fresh).Rto} {
		if got >= 200_000 || got < 40_000 {
			t.Errorf("%s connection: RTO %d us, want at least 40000 and less than 200000", what, got)
		}
	}
	if s := of(t, mustReport(t, a), conn); s.RTOUs >= 200_000 {
		t.Errorf("reported as %+v, want an RTO of less than 200000 us", s)
	}
	mustClose(t, a)
	fresh, freshEnd = n.Connect(cubic)
	testnet.MustSend(t, fresh, freshEnd, some)
	if got := testnet.Info(t, fresh).Rto; got < 200_000 {
		t.Errorf("RTO after the tune: got %d us, want at least 200000", got)
	}
}

func sysctlIn(t *testing.T, h *testnet.Host) (value string) {
	t.Helper()
	if err := h.Do(func() (err error) { value, err = readSysctl(rtoMinSysctl); return err }); err != nil {
		t.Fatal(err)
	}
	return value
}

// A minimum above the option's limit is set by routes for existing peers, and by the sysctl for new
// sockets of the namespace.
func TestAMinimumRTOAboveTheOptionsLimit(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	n.Connect(cubic)
	n.Connect(testnet.Dial{V6: true})
	before := sysctlIn(t, n.Client)
	a := mustApply(t, client(n), Settings{MinRTOUs: 700_000}, Options{BPFFS: mount})
	r := mustReport(t, a)
	if len(r.Routes) != 2 || len(r.Sysctls) != 1 || r.Failed() || r.Sysctls[0].Now != "700000" {
		t.Errorf("reported as %+v, %+v, want two routes and the sysctl at 700000", r.Routes, r.Sysctls)
	}
	check := func(what string) {
		t.Helper()
		for _, d := range []testnet.Dial{cubic, {V6: true}} {
			conn, end := n.Connect(d)
			testnet.MustSend(t, conn, end, some)
			if got := testnet.Info(t, conn).Rto; got < 700_000 || got > 900_000 {
				t.Errorf("%s (IPv6 %t): RTO %d us, want 700000 to 900000", what, d.V6, got)
			}
		}
	}
	check("by routes and the sysctl")
	// Each is enough by itself.
	if err := n.Client.Sysctl(rtoMinSysctl, before); err != nil {
		t.Fatal(err)
	}
	check("by routes")
	if err := n.Client.Sysctl(rtoMinSysctl, "700000"); err != nil {
		t.Fatal(err)
	}
	mustClose(t, a)
	if got := sysctlIn(t, n.Client); got != before {
		t.Errorf("sysctl after the tune: got %s, want %s", got, before)
	}
	for _, family := range []string{"-4", "-6"} {
		routes, err := n.Client.Run("ip", family, "route", "show")
		if err != nil || strings.Contains(routes, "rto_min") {
			t.Errorf("routes after the tune: %s, %v, want none with rto_min", routes, err)
		}
	}
	conn, end := n.Connect(cubic)
	testnet.MustSend(t, conn, end, some)
	if got := testnet.Info(t, conn).Rto; got >= 700_000 {
		t.Errorf("RTO after the tune: got %d us, want less than 700000", got)
	}
}

// If the selection is not a whole namespace, a new peer gets its route when it connects.
func TestRoutesOfNewPeers(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	_, to := listen(t, n.Server)
	before := sysctlIn(t, n.Client)
	s := Selection{Filter: filter.Filter{Ports: []uint16{to.Port()}, NetNS: []uint32{n.Client.NetNS}}}
	a := mustApply(t, s, Settings{MinRTOUs: 500_000}, Options{BPFFS: mount})
	if r := mustReport(t, a); len(r.Routes) != 0 || len(r.Sysctls) != 0 || sysctlIn(t, n.Client) != before {
		t.Errorf("before a peer: reported as %+v, %+v, want no route and no sysctl", r.Routes, r.Sysctls)
	}
	dial(t, n.Client, to)
	testnet.Eventually(t, patience, "the peer's route", func() bool {
		r := mustReport(t, a)
		return len(r.Routes) == 1 && r.Routes[0].OK && r.Routes[0].To == n.Server.V4.String()
	})
}

func TestRoutesThatTakeNoMinimumRTO(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	// A route to the machine itself.
	_, to := listen(t, n.Client)
	dial(t, n.Client, to)
	// A route to the peer that the administrator has made.
	if out, err := n.Client.Run("ip", "route", "add", "10.77.0.2/32", "dev", "eth0"); err != nil {
		t.Fatal(out, err)
	}
	conn, _ := n.Connect(cubic)
	a := mustApply(t, client(n), Settings{MinRTOUs: 500_000}, Options{BPFFS: mount})
	r := mustReport(t, a)
	if len(r.Routes) != 2 || !r.Failed() {
		t.Fatalf("reported as %+v, want two routes that failed", r.Routes)
	}
	for _, o := range r.Routes {
		want := "this machine itself"
		if o.To == n.Server.V4.String() {
			want = "ip route change"
		}
		if o.OK || !strings.Contains(o.Error, want) {
			t.Errorf("reported as %+v, want an error with %q", o, want)
		}
	}
	_ = conn
	mustClose(t, a)
	if routes, err := n.Client.Run("ip", "route", "show"); err != nil || !strings.Contains(
		routes, "10.77.0.2 dev eth0",
	) {
		t.Errorf("routes: %s, %v, want the administrator's route to 10.77.0.2", routes, err)
	}
}

func TestTwoTunesOfRoutesAndSysctls(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	n.Connect(cubic)
	before := sysctlIn(t, n.Client)
	routed := func() string {
		out, err := n.Client.Run("ip", "route", "show", "10.77.0.2/32")
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	a := mustApply(t, client(n), Settings{MinRTOUs: 500_000}, Options{BPFFS: mount})
	b := mustApply(t, client(n), Settings{MinRTOUs: 600_000}, Options{BPFFS: mount})
	mustClose(t, a)
	if got := sysctlIn(t, n.Client); got != "600000" || !strings.Contains(routed(), "600ms") {
		t.Errorf("after the older tune: sysctl %s, route %s, want 600000 and 600ms", got, routed())
	}
	a = mustApply(t, client(n), Settings{MinRTOUs: 700_000}, Options{BPFFS: mount})
	mustClose(t, a)
	if got := sysctlIn(t, n.Client); got != "600000" || !strings.Contains(routed(), "600ms") {
		t.Errorf("after the later tune: sysctl %s, route %s, want 600000 and 600ms", got, routed())
	}
	mustClose(t, b)
	if got := sysctlIn(t, n.Client); got != before || routed() != "" {
		t.Errorf("after both: sysctl %s, route %s, want %s and no route", got, routed(), before)
	}
}
