//go:build kernel

package share

import (
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"airtide/internal/share/cellkey"
	"airtide/internal/share/control"
	"airtide/internal/share/link"
	"airtide/test/testnet"
)

// badWay forwards datagrams between terminals and a hub. It loses some datagrams of the terminals,
// and delays or doubles some in both directions. The hub sees each terminal at a separate port.
type badWay struct {
	in     *net.UDPConn
	hub    netip.AddrPort
	loss   float64
	mu     sync.Mutex
	random *rand.Rand
	out    map[netip.AddrPort]*net.UDPConn // key: terminal
	passed [3]int                          // lost, late, twice
}

// latePart of the datagrams comes so late that others of two terminals have come meanwhile, and
// twicePart twice.
const (
	lateBy              = 400 * time.Millisecond
	latePart, twicePart = 0.1, 0.1
)

// openBadWay opens a badWay at a host until the test ends.
func openBadWay(t *testing.T, h *testnet.Host, port uint16, hub netip.AddrPort, loss float64) *badWay {
	t.Helper()
	w := &badWay{hub: hub, loss: loss, random: rand.New(rand.NewPCG(1, 2)), out: map[netip.AddrPort]*net.UDPConn{}}
	if err := h.Do(func() (err error) {
		w.in, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(netip.AddrPortFrom(h.V4, port)))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() {
		w.in.Close()
		<-ended
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, c := range w.out {
			c.Close()
		}
	})
	go func() {
		defer close(ended)
		buffer := make([]byte, 65536)
		for {
			n, from, err := w.in.ReadFromUDPAddrPort(buffer)
			if err != nil {
				return
			}
			if c := w.towards(t, h, from); c != nil {
				w.pass(w.loss, append([]byte(nil), buffer[:n]...), func(b []byte) { _, _ = c.Write(b) })
			}
		}
	}()
	return w
}

// towards returns the socket of a terminal to the hub, and forwards the hub's answers.
func (w *badWay) towards(t *testing.T, h *testnet.Host, terminal netip.AddrPort) *net.UDPConn {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.out[terminal]; c != nil {
		return c
	}
	var c *net.UDPConn
	if err := h.Do(func() (err error) {
		c, err = net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(w.hub))
		return err
	}); err != nil {
		t.Error(err)
		return nil
	}
	w.out[terminal] = c
	go func() {
		buffer := make([]byte, 65536)
		for {
			n, err := c.Read(buffer)
			if err != nil {
				return
			}
			w.pass(0, append([]byte(nil), buffer[:n]...), func(b []byte) {
				_, _ = w.in.WriteToUDPAddrPort(b, terminal)
			})
		}
	}()
	return c
}

// pass forwards a datagram: not at all, late, or twice by chance.
func (w *badWay) pass(loss float64, datagram []byte, send func([]byte)) {
	w.mu.Lock()
	lost := w.random.Float64() < loss
	late := w.random.Float64() < latePart
	twice := w.random.Float64() < twicePart
	for i, is := range []bool{lost, !lost && late, !lost && twice} {
		if is {
			w.passed[i]++
		}
	}
	w.mu.Unlock()
	if lost {
		return
	}
	if twice {
		send(datagram)
	}
	if late {
		time.AfterFunc(lateBy, func() { send(datagram) })
		return
	}
	send(datagram)
}

// 30 % of the reports are lost, a tenth is late and a tenth arrives twice. The terminals know each
// other, and the bound holds for nine tenths of the time.
func TestAgentsShareDespiteLoss(t *testing.T) {
	const port, lossy, loss, looks = 4799, 4798, 0.3, 300
	n, _, _ := narrow(t)
	key := cellkey.New()
	runHub(t, n.Server, key, port)
	way := openBadWay(t, n.Server, lossy, netip.AddrPortFrom(n.Server.V4, port), loss)
	by := link.Config{Peers: []netip.AddrPort{netip.AddrPortFrom(n.Server.V4, lossy)}}
	a := run(t, n.Client, Config{Key: key, Policy: control.Shares, MaxBps: lowRate, Link: by})
	b := run(t, n.Server, Config{Key: key, Policy: control.Observe, MaxBps: lowRate, Link: by})
	testnet.Eventually(t, longEnough, "a bound", func() bool { return bound(a.now()) && len(b.now().Peers) == 1 })
	held := 0
	met := 0
	ticks := time.NewTicker(50 * time.Millisecond)
	defer ticks.Stop()
	for range looks {
		<-ticks.C
		if bound(a.now()) {
			held++
		}
		if len(b.now().Peers) == 1 {
			met++
		}
	}
	way.mu.Lock()
	passed := way.passed
	way.mu.Unlock()
	t.Logf("%d lost, %d late, %d twice; held %d of %d times, met %d; %v",
		passed[0], passed[1], passed[2], held, looks, met, a.now().Datagrams)
	if passed[0] < 10 || passed[1] < 5 || passed[2] < 5 {
		t.Errorf("%d reports lost, %d late, %d twice: too few for this test", passed[0], passed[1], passed[2])
	}
	if testing.Short() {
		return // an emulated machine is late by itself
	}
	if held < looks*9/10 || met < looks*9/10 {
		t.Errorf("of %d checks the bound held in %d and the peer was known in %d, want nine tenths", looks, held, met)
	}
}
