package cell

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"airtide/cell/medium"
	"airtide/cell/path"
)

// twoStations are an ac cell with a server 2 ms away.
func twoStations() Config {
	c := gigabit(Terminal{Name: "one", Radio: ac867()}, Terminal{Name: "two", Radio: ac867()})
	c.Flows = []Flow{{"first", 5201}, {"second", 5202}, {"echo", 0}}
	return c
}

func TestTCPUploadGetsWhatTheMediumGives(t *testing.T) {
	c := start(t, twoStations())
	if err := c.Begin(); err != nil {
		t.Fatal(err)
	}
	c.serve(t, "server", 5201)
	c.serve(t, "server", 5202)
	w := c.during(t, 2*time.Second, 3*time.Second, func() {
		var wait sync.WaitGroup
		for i, name := range []string{"one", "two"} {
			wait.Go(func() { c.upload(t, name, "server", 5201+i, 6, "-C", "cubic") })
		}
		wait.Wait()
	})
	s := c.status(t)
	if s.Engine.LagExceeded {
		t.Logf("the machine was too busy: %v", s.Engine.Warnings)
	}
	goodput := w.Flows[0].ForwardMbps + w.Flows[1].ForwardMbps
	// UDP gets 641 Mbit/s through this medium at A-MPDUs of 64 frames; TCP's acknowledgements take a part.
	if goodput < 450 || goodput > 641 {
		t.Errorf("goodput of %.0f Mbit/s\n%s", goodput, w)
	}
	crossed := w.Terminals[0].Up.RateMbps + w.Terminals[1].Up.RateMbps
	if share := goodput / crossed; share < 0.95 || share > 1448.0/1500 {
		t.Errorf("the flows' payload is %.3f of what crossed the medium, want just below %.3f", share, 1448.0/1500)
	}
	air := w.AP.Radio.AirtimePercent
	for _, terminal := range w.Terminals {
		air += terminal.Up.AirtimePercent
		if terminal.Up.AirtimePercent < 20 || terminal.Up.AggregationFrames < 20 || terminal.APQueue.Sojourn.Count == 0 {
			t.Errorf("%s did not send as one that has much to send: %+v", terminal.Name, terminal)
		}
	}
	if air < 60 || air > 125 { // collisions count for each of those that collide
		t.Errorf("all together had %.0f %% of the airtime", air)
	}
	if downs := w.Terminals[0].Down.AirtimePercent + w.Terminals[1].Down.AirtimePercent; downs < w.AP.Radio.AirtimePercent*0.999 || downs > w.AP.Radio.AirtimePercent*1.001 {
		t.Errorf("airtime towards the terminals %.2f %%, the access point's %.2f %%", downs, w.AP.Radio.AirtimePercent)
	}
}

func TestStationsAndServersReachEachOther(t *testing.T) {
	config := twoStations()
	config.Terminals = append(config.Terminals, Terminal{Name: "wired", Up: config.Terminals[0].Up, Down: config.Terminals[0].Down})
	c := start(t, config)
	if err := c.Begin(); err != nil {
		t.Fatal(err)
	}
	for _, way := range []struct {
		from, to      string
		least, atMost float64 // ms
	}{
		{"one", "two", 0.2, 3},
		{"one", "server", 2, 5},
		{"server", "two", 2, 5},
		{"wired", "server", 2, 4},
		{"wired", "one", 4, 7},
	} {
		to := c.host(t, way.to)
		for _, address := range []string{to.Address.String(), to.Address6.String()} {
			times := c.pings(t, way.from, "-c", "20", "-i", "0.02", address)
			if len(times) != 20 {
				t.Errorf("%d of 20 pings from %s to %s (%s) came back", len(times), way.from, way.to, address)
				continue
			}
			slices.Sort(times)
			if median := times[10]; median < way.least || median > way.atMost {
				t.Errorf("pings from %s to %s take %.2f ms, want %g to %g", way.from, way.to, median, way.least, way.atMost)
			}
		}
	}
	s := c.status(t)
	if echo := s.Flows[2]; echo.Forward.Packets != 200 || echo.Reverse.Packets != 200 || echo.Forward.PayloadBytes != 200*56 {
		t.Errorf("200 pings and answers counted as %+v", echo)
	}
	// To and fro: 40 between stations, 40 each of a station with the server, and 40 with the wired one.
	if one := s.Terminals[0]; one.Up.DeliveredPackets < 120 || one.Down.DeliveredPackets < 120 {
		t.Errorf("station one: %d packets up, %d down, want 120 and more", one.Up.DeliveredPackets, one.Down.DeliveredPackets)
	}
}

func TestPingSeesTheScheduleOfTheDelay(t *testing.T) {
	config := gigabit(Terminal{
		Name: "one", Radio: ac867(),
		Up:   []LineStep{{0, path.Line{DelayNs: 5e6}}, {1e9, path.Line{DelayNs: 25e6}}},
		Down: []LineStep{{0, path.Line{DelayNs: 5e6}}, {1e9, path.Line{DelayNs: 25e6}}, {2e9, path.Line{DelayNs: 10e6}}},
	})
	c := start(t, config)
	if err := c.Begin(); err != nil {
		t.Fatal(err)
	}
	// 15 pings a second for 3 s from Begin on.
	times := c.pings(t, "one", "-c", "45", "-i", "0.0667", c.host(t, "server").Address.String())
	if len(times) != 45 {
		t.Fatalf("%d of 45 pings came back", len(times))
	}
	for second, want := range []float64{10, 50, 35} {
		part := slices.Clone(times[second*15+3 : second*15+12])
		slices.Sort(part)
		if median := part[len(part)/2]; median < want || median > want+2 {
			t.Errorf("in second %d pings take %.2f ms, want %g", second, median, want)
		}
	}
}

func TestDuplicatesArriveTwice(t *testing.T) {
	config := gigabit(Terminal{Name: "one", Radio: ac867(), Up: []LineStep{{0, path.Line{Duplicate: 1}}}, Down: []LineStep{{0, path.Line{}}}})
	config.Flows = []Flow{{"echo", 0}}
	c := start(t, config)
	if err := c.Begin(); err != nil {
		t.Fatal(err)
	}
	c.pings(t, "one", "-c", "10", "-i", "0.02", "-s", "1000", c.host(t, "server").Address.String())
	if f := c.status(t).Flows[0]; f.Forward.Packets < 19 || f.Forward.PayloadBytes != 1000*f.Forward.Packets {
		t.Errorf("10 requests, each doubled: %+v arrived", f.Forward)
	}
}

func TestStoppedCellLeavesNothing(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	c, err := Start(t.Context(), twoStations())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
	<-c.Ended()
	for _, h := range c.Hosts() {
		if _, err := os.Stat(filepath.Join("/run/netns", h.Namespace)); err == nil {
			t.Errorf("namespace %s of %s is still there", h.Namespace, h.Name)
		}
	}
	if _, err := c.Status(); err == nil {
		t.Error("a stopped cell has a status")
	}
}

func TestFullQueueHoldsTheSenderOrRefuses(t *testing.T) {
	for _, refuse := range []bool{false, true} {
		config := gigabit(Terminal{Name: "one", Radio: radio(must(medium.AtRate(medium.Std11ac, 20, 1, 6.5))), Refuse: refuse})
		config.Terminals[0].Radio.QueuePackets = 20
		c := start(t, config)
		if err := c.Begin(); err != nil {
			t.Fatal(err)
		}
		c.serve(t, "server", 5201)
		from := c.status(t)
		c.upload(t, "one", "server", 5201, 2, "-C", "cubic", "-w", "1M")
		one := Between(from, c.status(t)).Terminals[0]
		if one.Drops.StationQueue > 0 {
			t.Errorf("refuse %t: the queue dropped %d packets", refuse, one.Drops.StationQueue)
		}
		if refuse && one.Refused == 0 {
			t.Error("a device that refuses has refused nothing")
		}
		if !refuse && (one.Refused > 0 || one.Holds == 0) {
			t.Errorf("a device that holds the sender back refused %d packets and held %d times", one.Refused, one.Holds)
		}
	}
}

func TestOutsideInterfacesTakePart(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	// A machine outside, behind an interface of this namespace.
	machine := fmt.Sprintf("cell-outside-%d", os.Getpid())
	ip := func(arguments ...string) {
		t.Helper()
		if out, err := exec.Command("ip", arguments...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", strings.Join(arguments, " "), err, out)
		}
	}
	ip("netns", "add", machine)
	t.Cleanup(func() { ip("netns", "del", machine) })
	here := fmt.Sprintf("co%d", os.Getpid())
	ip("link", "add", here, "type", "veth", "peer", "name", "there", "netns", machine)
	ip("link", "set", here, "up")
	ip("-n", machine, "address", "add", "192.168.77.2/24", "dev", "there")
	ip("-n", machine, "link", "set", "there", "up")
	ip("-n", machine, "route", "add", "default", "via", "192.168.77.1")

	config := twoStations()
	config.Terminals[1].Outside = &Outside{
		Interface: here, Addresses: []netip.Prefix{netip.MustParsePrefix("192.168.77.0/24")},
		Gateway: []netip.Addr{netip.MustParseAddr("192.168.77.1")},
	}
	c := start(t, config)
	if err := c.Begin(); err != nil {
		t.Fatal(err)
	}
	if h := c.host(t, "two"); h.Namespace != "" {
		t.Errorf("an interface outside has the namespace %q", h.Namespace)
	}
	c.pings(t, "server", "-c", "1", "-w", "5", "192.168.77.2") // until it is known where the machine is
	if times := c.pings(t, "server", "-c", "5", "-i", "0.05", "192.168.77.2"); len(times) != 5 {
		t.Errorf("%d of 5 pings came back from outside", len(times))
	}
	two := c.status(t).Terminals[1]
	if two.Up.DeliveredPackets < 5 || two.Down.DeliveredPackets < 5 {
		t.Errorf("%d packets up and %d down over the medium, want 5 and more", two.Up.DeliveredPackets, two.Down.DeliveredPackets)
	}
}

func TestMistakesAreNamed(t *testing.T) {
	change := func(f func(c *Config)) Config {
		c := twoStations()
		f(&c)
		return c
	}
	for _, m := range []struct {
		c    Config
		says string
	}{
		{Config{}, "no terminals"},
		{change(func(c *Config) { c.AP.Discipline = "red" }), `"red" is unknown`},
		{change(func(c *Config) { c.Terminals[1].Radio.PHY = nil }), `terminal "two": its radio has no PHY rate`},
		{change(func(c *Config) { c.Terminals[1].Up = []LineStep{{5, path.Line{}}} }), "the first step is at 5 ns"},
		{change(func(c *Config) { c.WireUp = append(c.WireUp, WireStep{0, path.Wire{}}) }), "does not follow the one at 0 ns"},
		{change(func(c *Config) { c.Terminals[0].Radio, c.Terminals[0].Refuse = nil, true }), "it has no radio"},
		{change(func(c *Config) { c.Flows[1].Port = 5201 }), `flows "first" and "second" are both counted by port 5201`},
		{change(func(c *Config) { c.Band = medium.Band2GHz }), "802.11ac does not exist at 2.4 GHz"},
		{change(func(c *Config) { c.WireUp[0].Wire.RateBps = -1 }), "towards the servers"},
	} {
		_, err := Start(t.Context(), m.c)
		if err == nil || !strings.Contains(err.Error(), m.says) {
			t.Errorf("got %v, want one that says %s", err, m.says)
		}
	}
}

func TestThinnedAcknowledgementsAreCountedAndTCPGoesOn(t *testing.T) {
	config := twoStations()
	config.AP.AckThinning = true
	c := start(t, config)
	if err := c.Begin(); err != nil {
		t.Fatal(err)
	}
	c.serve(t, "server", 5201)
	from := c.status(t)
	result := c.upload(t, "one", "server", 5201, 2, "-C", "cubic")
	w := Between(from, c.status(t))
	if w.AP.Thinned == 0 || w.AP.Queue.Dropped < w.AP.Thinned {
		t.Errorf("%d acknowledgements were thinned, %d packets dropped at the access point", w.AP.Thinned, w.AP.Queue.Dropped)
	}
	if got := c.status(t).Flows[0].Forward.PayloadBytes; got < result.End.Received.Bytes || result.End.Received.Bytes < 10e6 {
		t.Errorf("iperf3 received %d bytes, the cell delivered %d", result.End.Received.Bytes, got)
	}
}
