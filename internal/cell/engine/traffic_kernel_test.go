//go:build kernel

package engine

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"airtide/test/testnet"
)

func TestBytesArriveIntact(t *testing.T) {
	bytes := int64(20e6)
	if testing.Short() { // on an emulated machine
		bytes = 4e6
	}
	for _, mode := range []struct {
		name             string
		coalesce, supers bool
	}{
		{"packet by packet", false, false},
		{"written as super-packets", true, false},
		{"read as super-packets", false, true},
		{"read and written as super-packets", true, true},
	} {
		t.Run(mode.name, func(t *testing.T) {
			c := pair(lineConfig{DelayNs: 1e6, Limit: 300})
			c.Coalesce = mode.coalesce
			c.Supers = mode.supers
			c.Ports = append(c.Ports,
				Port{Name: "other", Kind: Station, Station: 1, Addresses: host("10.88.0.2", "fd88::2")})
			e := start(t, c)
			for _, way := range [][3]string{
				{"station", "server", "10.88.1.1"},
				{"station", "server", "fd88:1::1"},
				{"server", "station", "10.88.0.1"},
				{"server", "station", "fd88::1"},
				{"station", "other", "10.88.0.2"},
				{"other", "station", "fd88::1"},
			} {
				t.Run("TCP from "+way[0]+" to "+way[2], func(t *testing.T) {
					client, server := connect(t, e, way[0], way[1], way[2])
					transfer(t, client, server, bytes)
					transfer(t, server, client, bytes/4)
				})
				t.Run("UDP from "+way[0]+" to "+way[2], func(t *testing.T) {
					largest := 1500 - 28
					if strings.Contains(way[2], ":") {
						largest = 1500 - 48
					}
					for _, size := range []int{0, 1, 333, largest} {
						if n := datagrams(t, e, way[0], way[1], way[2], size, 40); n != 40 {
							t.Errorf("%d of 40 datagrams of %d bytes arrived", n, size)
						}
					}
				})
			}
			s := status(t, e)
			for _, p := range s.Ports {
				if p.Malformed+p.WriteFailed+p.KernelDropped > 0 || p.PacketsIn == 0 || p.PacketsOut == 0 {
					t.Errorf("port %s: %+v", p.Name, p.PortCounts)
				}
			}
			// Nothing larger than an MTU may enter, however it was read, and every packet that
			// entered has left.
			var bytesIn, packetsIn, out uint64
			for _, p := range s.Ports {
				bytesIn += p.BytesIn
				packetsIn += p.PacketsIn
				out += p.PacketsOut
			}
			if bytesIn > packetsIn*1500 {
				t.Errorf("%d packets with %d bytes entered: some are larger than the MTU", packetsIn, bytesIn)
			}
			if lost := packetsIn - out; s.Dropped != [len(s.Dropped)]uint64{} || lost > 10 {
				t.Errorf("%d packets entered and %d left; dropped %v", packetsIn, out, s.Dropped)
			}
			var world lineCounts
			err := json.Unmarshal(s.World, &world)
			if err != nil || world.Pushed != packetsIn || world.Acks == 0 || world.Flows < 12 {
				t.Errorf("the world saw %+v (%v), the ports let %d packets enter", world, err, packetsIn)
			}
			if world.Longest > 300 {
				t.Errorf("a station's queue of 300 packets held %d", world.Longest)
			}
		})
	}
}

func TestALargeMTUIsCarried(t *testing.T) {
	c := pair(lineConfig{})
	for i := range c.Ports {
		c.Ports[i].MTU = maxMTU
	}
	e := start(t, c)
	client, server := connect(t, e, "station", "server", "10.88.1.1")
	transfer(t, client, server, 5e6)
	if n := datagrams(t, e, "server", "station", "fd88::1", maxMTU-48, 10); n != 10 {
		t.Errorf("%d of 10 datagrams arrived", n)
	}
}

// TestRateAndDelay holds the line's own figures against what TCP makes of it, within bounds that a
// busy machine keeps.
func TestRateAndDelay(t *testing.T) {
	e := start(t, pair(lineConfig{RateBps: 100e6, DelayNs: 10e6}))
	var rate float64
	for try := 0; try < 5 && rate < 60e6; try++ { // a machine that was taken away for a while makes TCP lose
		client, server := connect(t, e, "station", "server", "10.88.1.1")
		if rtt := tcpInfo(t, client).Rtt; rtt < 20000 || rtt > 35000 && try == 4 {
			t.Errorf("the RTT is %d µs, want a little more than 20000", rtt)
		}
		begin := time.Now()
		transfer(t, client, server, 25e6)
		// 1448 bytes of 1500 at most, and slow start.
		rate = 25e6 * 8 / time.Since(begin).Seconds()
		if rate > 96.6e6 {
			t.Errorf("TCP reached %.1f Mbit/s, more than the line has room for", rate/1e6)
		}
	}
	if rate < 60e6 {
		t.Errorf("TCP reached %.1f Mbit/s, want some 90 of 96.5", rate/1e6)
	}
	s := status(t, e)
	if s.Lag.Count == 0 || s.Lag.P50Ns == 0 || s.Lag.MaxNs < s.Lag.P999Ns || s.Lag.P999Ns < s.Lag.P50Ns {
		t.Errorf("lag %+v", s.Lag)
	}
}

func TestWhatHasNoWayDoesNotEnter(t *testing.T) {
	e := start(t, pair(lineConfig{}))
	in(t, e, "station", func() error { return sendUDP("192.0.2.1", 3) })
	in(t, e, "server", func() error { return sendUDP("192.0.2.1", 4) })
	testnet.Eventually(t, 5*time.Second, "the packets to be read", func() bool {
		s := status(t, e)
		return s.port("station").Unroutable == 3 && s.port("server").Unroutable == 4
	})
	if s := status(t, e); s.port("station").PacketsIn+s.port("server").PacketsIn != 0 {
		t.Errorf("packets entered: %+v", s.Ports)
	}
}

func TestTwoEnginesDoNotDisturbEachOther(t *testing.T) {
	first := start(t, pair(lineConfig{DelayNs: 1e6}))
	second := start(t, pair(lineConfig{DelayNs: 2e6}))
	a, b := connect(t, first, "station", "server", "10.88.1.1")
	c, d := connect(t, second, "station", "server", "10.88.1.1")
	done := make(chan struct{})
	go func() {
		defer close(done)
		transfer(t, a, b, 20e6)
	}()
	transfer(t, c, d, 20e6)
	<-done
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	c, d = connect(t, second, "server", "station", "fd88::1")
	transfer(t, c, d, 5e6)
	if left := leftOf(t, second.Ready.PID); len(left) != 3 {
		t.Errorf("the second engine has %v after the first has ended", left)
	}
}

// stations adds stations to a configuration until there are n.
func stations(c Config, n int) Config {
	for i := 1; i < n; i++ {
		c.Ports = append(c.Ports, Port{
			Name: fmt.Sprintf("station%d", i), Kind: Station, Station: i,
			Addresses: host(fmt.Sprintf("10.88.2.%d", i)), Refuse: i%2 == 0,
		})
	}
	return c
}

func TestAHundredStations(t *testing.T) {
	c := stations(pair(lineConfig{DelayNs: 1e6, Limit: 100}), 100)
	e := start(t, c)
	sink(t, e, "server")
	for _, p := range c.Ports {
		if p.Kind == Station {
			in(t, e, p.Name, func() error { return sendUDP("10.88.1.1", 10) })
		}
	}
	testnet.Eventually(t, 5*time.Second, "all to arrive",
		func() bool { return status(t, e).port("server").PacketsOut == 1000 })
	for _, p := range status(t, e).Ports {
		if p.Name != "server" && p.PacketsIn != 10 {
			t.Errorf("port %s: %+v", p.Name, p.PortCounts)
		}
	}
}

func TestLagAboveTheLimitIsSaid(t *testing.T) {
	c := pair(lineConfig{DelayNs: 1e6})
	c.LagLimit = 1 // a nanosecond
	e := start(t, c)
	sink(t, e, "station")
	in(t, e, "server", func() error { return sendUDP("10.88.0.1", 50) })
	testnet.Eventually(t, 5*time.Second, "the packets to leave", func() bool { return status(t, e).Lag.Count >= 50 })
	if s := status(t, e); !s.LagExceeded || len(s.Warnings) == 0 || !strings.Contains(s.Warnings[0], "fell behind") {
		t.Errorf("exceeded %v, warnings %q, lag %+v", s.LagExceeded, s.Warnings, s.Lag)
	}
	if err := e.Reset(); err != nil {
		t.Fatal(err)
	}
	if s := status(t, e); s.Lag.Count > 0 || s.LagExceeded {
		t.Errorf("after Reset the lag is %+v", s.Lag)
	}
}
