//go:build kernel

package liars

import (
	"context"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/cell"
	"airtide/internal/cell/engine"
	"airtide/internal/cell/medium"
	"airtide/internal/cell/path"
	"airtide/internal/cell/queue"
	"airtide/internal/kernel/sockets/owner"
	"airtide/internal/observe/source"
	"airtide/internal/share"
	"airtide/internal/share/cellkey"
	"airtide/internal/share/control"
	"airtide/internal/share/link"
	"airtide/internal/share/message"
	"airtide/internal/sys/clock"
	"airtide/test/need"
	"airtide/test/testnet"
)

func TestMain(m *testing.M) {
	if engine.IsEngine() {
		os.Exit(engine.Main(cell.Build))
	}
	os.Exit(m.Run())
}

// standalone is the configured standalone rate of both terminals, in bit/s. Alone each carries a
// little more.
const standalone = 300e6

// lie is the false report of a member.
type lie struct {
	rate, later float64 // bit/s, in the first 8 s and afterwards
	rtt         time.Duration
	weight      float64
	sends       bool // it sends, without bounds
	addresses   int
}

// A member lies in each of the ways that are known, as the coordinator. The honest terminal carries
// at least its documented floor.
func TestLiarsLeaveTheFloor(t *testing.T) {
	lies := map[string]lie{
		"weight 10":                       {262e6, 262e6, 12 * time.Millisecond, 10, true, 1},
		"a minute, 80 and 50 Mbit/s":      {80e6, 50e6, time.Minute, 10, true, 1},
		"the same, sends nothing":         {80e6, 50e6, time.Minute, 10, false, 1},
		"a minute, 22 Mbit/s":             {22e6, 22e6, time.Minute, 10, true, 1},
		"a minute, 30 Mbit/s, weight 1":   {30e6, 30e6, time.Minute, 1, true, 1},
		"two addresses of weight 10":      {130e6, 130e6, 12 * time.Millisecond, 10, true, 2},
		"three addresses of weight 10":    {87e6, 87e6, 12 * time.Millisecond, 10, true, 3},
		"ten addresses of weight 10":      {26e6, 26e6, 12 * time.Millisecond, 10, true, 10},
		"ten addresses, a minute, 2 each": {8e6, 5e6, time.Minute, 10, true, 10},
	}
	for name, l := range lies {
		if testing.Short() && l.later == l.rate {
			continue
		}
		t.Run(name, func(t *testing.T) {
			n := 1 + l.addresses
			floor := control.FloorRate(standalone, 1, n)
			rate, status := victimOf(t, l)
			t.Logf("%.1f Mbit/s, floor %.1f; share %.1f, wire %.1f, correction %.2f, RTT %d us, window %v", rate/1e6,
				floor/1e6, status.ShareBps/1e6, status.WireBps/1e6, status.Correction, status.Own.RTTUs, status.Windows)
			if len(status.Peers) != l.addresses {
				t.Errorf("%d peers, want %d", len(status.Peers), l.addresses)
			}
			if rate < floor {
				t.Errorf("the honest terminal carries %.1f Mbit/s, less than its floor of %.1f", rate/1e6, floor/1e6)
			}
		})
	}
}

// victimOf runs a cell of an honest terminal and a liar. It returns what the honest one carries in
// the last five of 15 s, and its last status.
func victimOf(t *testing.T, l lie) (bps float64, last share.Status) {
	need.Root(t)
	phy, err := medium.AtRate(medium.Std11ac, 80, 1, 433.3)
	if err != nil {
		t.Fatal(err)
	}
	station := func(name string) cell.Terminal {
		line := []cell.LineStep{{AtNs: 0, Line: path.Line{DelayNs: 5e6}}}
		radio := &cell.Radio{PHY: []cell.PHYStep{{AtNs: 0, PHY: phy}}, QueuePackets: 500}
		return cell.Terminal{Name: name, Radio: radio, Up: line, Down: line}
	}
	wire := []cell.WireStep{{AtNs: 0, Wire: path.Wire{RateBps: 1e9, Limit: queue.Limit{Packets: 1000}}}}
	c, err := cell.Start(t.Context(), cell.Config{
		Seed: 1, AP: cell.AccessPoint{Limit: queue.Limit{Packets: 500}}, WireUp: wire, WireDown: wire,
		Servers: []cell.Server{{Name: "server"}}, Terminals: []cell.Terminal{station("victim"), station("liar")},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	hosts := map[string]cell.Host{}
	for _, h := range c.Hosts() {
		hosts[h.Name] = h
	}
	if err := c.Begin(); err != nil {
		t.Fatal(err)
	}
	listeners = nil
	key := cellkey.New()
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	serve(t, ctx, &all, hosts["server"])
	flow := upload(t, ctx, &all, hosts["victim"], hosts["server"])
	if l.sends {
		upload(t, ctx, &all, hosts["liar"], hosts["server"])
	}
	for i := range l.addresses {
		speak(t, ctx, &all, hosts, key, l, i)
	}
	var mu sync.Mutex
	var ran error
	all.Go(func() {
		ran = within(hosts["victim"], func() error {
			return share.Run(ctx, share.Config{
				Key: key, Interface: "eth0", MaxBps: standalone, Policy: control.Shares, Source: source.BPF,
				Link: link.Config{Peers: []netip.AddrPort{netip.AddrPortFrom(hosts["liar"].Address, link.Port)}},
				Step: func(s share.Status) {
					mu.Lock()
					defer mu.Unlock()
					last = s
				},
			})
		})
	})
	now := func() share.Status {
		mu.Lock()
		defer mu.Unlock()
		return last
	}
	testnet.Eventually(t, time.Minute, "bounds", func() bool {
		return ran != nil || now().Bounded && len(now().Peers) == l.addresses
	})
	if ran != nil {
		t.Fatal(ran)
	}
	testnet.Idle(t, 10*time.Second, "the bounds take effect")
	began := clock.Now()
	before := testnet.Info(t, flow).Bytes_acked
	testnet.Idle(t, 5*time.Second, "the rate is measured over it")
	bytes := testnet.Info(t, flow).Bytes_acked - before
	return float64(bytes) * 8 * 1e9 / float64(clock.Now()-began), now()
}

// within runs f in a host's namespace.
func within(h cell.Host, f func() error) error {
	at := "/run/netns/" + h.Namespace
	inode, err := owner.NetNSOfFile(at)
	if err != nil {
		return err
	}
	return owner.InNetNS(owner.NetNS{Path: at, Inode: inode}, f)
}

const port = 5201

// serve reads what arrives at a host.
func serve(t *testing.T, ctx context.Context, all *sync.WaitGroup, h cell.Host) {
	t.Helper()
	var l net.Listener
	err := within(h, func() (err error) {
		l, err = net.ListenTCP("tcp4", &net.TCPAddr{Port: port})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	context.AfterFunc(ctx, func() { _ = l.Close() })
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			context.AfterFunc(ctx, func() { _ = conn.Close() })
			all.Go(func() { _, _ = io.Copy(io.Discard, conn) })
		}
	})
}

// upload sends without end, by CUBIC.
func upload(t *testing.T, ctx context.Context, all *sync.WaitGroup, from, to cell.Host) *net.TCPConn {
	t.Helper()
	var conn net.Conn
	err := within(from, func() (err error) {
		conn, err = net.Dial("tcp4", netip.AddrPortFrom(to.Address, port).String())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	all.Go(func() {
		block := make([]byte, 1<<17)
		for {
			if _, err := conn.Write(block); err != nil {
				return
			}
		}
	})
	return conn.(*net.TCPConn)
}

// speak sends the false reports of the liar's i-th address.
func speak(
	t *testing.T, ctx context.Context, all *sync.WaitGroup, hosts map[string]cell.Host, key cellkey.Key, l lie, i int,
) {
	t.Helper()
	from := hosts["liar"].Address
	if i > 0 {
		from = netip.AddrFrom4([4]byte{10, 99, 0, byte(i)})
	}
	to := net.UDPAddrFromAddrPort(netip.AddrPortFrom(hosts["victim"].Address, link.Port))
	var conn *net.UDPConn
	err := within(hosts["liar"], func() (err error) {
		conn, err = listenAs(netip.AddrPortFrom(from, link.Port))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	began := clock.Now()
	receiver := message.NewReceiver(message.Config{Key: key, Link: message.Link{Copies: 1, NoMulticast: true}}, began)
	sender := message.NewSender(receiver, began)
	heard := make(chan []byte, 16)
	subscribe(heard)
	if i == 0 {
		all.Go(func() {
			for {
				b := make([]byte, 2048)
				n, err := conn.Read(b)
				if err != nil {
					return
				}
				publish(b[:n])
			}
		})
	}
	victim := netip.AddrPortFrom(hosts["victim"].Address, 0)
	all.Go(func() {
		ticker := time.NewTicker(100 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case b := <-heard:
				receiver.Take(victim, b, clock.Now())
				continue
			case <-ticker.C:
			}
			rate := l.rate
			if clock.Now()-began > 8e9 {
				rate = l.later
			}
			datagram, err := sender.Seal(nil, message.Report{
				State: message.Controlling, MaxKbps: message.RateOf(standalone), MaxSource: message.Configured,
				Weight: uint16(1000 * l.weight), UploadKbps: message.RateOf(rate), DeliveryKbps: message.RateOf(rate),
				MinRTTUs: 10_000, SmoothedRTTUs: message.Microseconds(l.rtt), RTT95Us: message.Microseconds(l.rtt),
				FlowsUp: 1,
			}, clock.Now())
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = conn.WriteToUDP(datagram, to)
		}
	})
}

// listenAs binds an address that the machine need not have.
func listenAs(at netip.AddrPort) (*net.UDPConn, error) {
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var failed error
		err := raw.Control(func(fd uintptr) {
			failed = unix.SetsockoptInt(int(fd), unix.SOL_IP, unix.IP_TRANSPARENT, 1)
		})
		if err != nil {
			return err
		}
		return failed
	}}
	conn, err := config.ListenPacket(context.Background(), "udp4", at.String())
	if err != nil {
		return nil, err
	}
	return conn.(*net.UDPConn), nil
}

// The victim's reports come to one address. All of the liar's sessions read them.
var (
	listeners      []chan []byte
	listenersMutex sync.Mutex
)

func subscribe(c chan []byte) {
	listenersMutex.Lock()
	defer listenersMutex.Unlock()
	listeners = append(listeners, c)
}

func publish(b []byte) {
	listenersMutex.Lock()
	defer listenersMutex.Unlock()
	for _, c := range listeners {
		select {
		case c <- b:
		default:
		}
	}
}
