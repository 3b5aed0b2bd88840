//go:build kernel

package timewarp

import (
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"airtide/internal/sys/file"
)

// Tests of TCP in accelerated time, over a path whose delay in real time does not depend on N.

// warped sets N and joins two hosts by a path. The times and the rate of the path are in real time.
func warped(t testing.TB, k *Kernel, r Ratio, tcp TCP, p *path) (a, b *host) {
	t.Helper()
	c, err := k.Set(r, tcp)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Lacks) > 0 {
		t.Fatal(c.Lacks)
	}
	insertModules(t)
	a = newHost(t, "10.77.0.1")
	b = newHost(t, "10.77.0.2")
	p.delay = times(p.delay, r)
	p.stallEvery = times(p.stallEvery, r)
	p.stallFor = times(p.stallFor, r)
	p.queue = times(p.queue, r)
	p.rate /= r.Float()
	p.start(a, b)
	return a, b
}

// times converts real time into time of the clock.
func times(d time.Duration, r Ratio) time.Duration { return time.Duration(float64(d) * r.Float()) }

// real converts time of the clock into real time.
func real(d time.Duration, r Ratio) time.Duration { return time.Duration(float64(d) / r.Float()) }

// exchange sends a byte each way n times.
func exchange(t testing.TB, client, server *net.TCPConn, n int) {
	t.Helper()
	one := make([]byte, 1)
	for range n {
		for _, step := range []func() error{
			func() error { _, err := client.Write(one); return err },
			func() error { _, err := io.ReadFull(server, one); return err },
			func() error { _, err := server.Write(one); return err },
			func() error { _, err := io.ReadFull(client, one); return err },
		} {
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

const us = time.Microsecond

// The RTO follows the setting, on both sides and from the handshake on. It becomes normal when N is
// 1 again.
func TestModuleRTO(t *testing.T) {
	k, _ := loaded(t)
	r := Ratio{10, 1}
	for _, rto := range RTOs {
		t.Run(string(rto), func(t *testing.T) {
			a, b := warped(t, k, r, TCP{RTO: rto}, &path{delay: 10 * time.Millisecond})
			client, server := connect(t, a, b)
			for _, when := range []string{"after the handshake", "after an exchange"} {
				judgeRTO(t, when+", client", client, rto, r)
				judgeRTO(t, when+", server", server, rto, r)
				exchange(t, client, server, 5)
			}
			if _, err := k.Set(One, TCP{}); err != nil {
				t.Fatal(err)
			}
			exchange(t, client, server, 200) // each round trip takes a quarter of the variance, an eighth of the srtt
			judgeRTO(t, "at ratio 1 again, client", client, RTONone, One)
			judgeRTO(t, "at ratio 1 again, server", server, RTONone, One)
		})
	}
}

// judgeRTO compares a socket's RTO with the value for its srtt and mean deviation. The RTO may be
// greater, because the kernel takes the largest deviation of the last round trips.
func judgeRTO(t testing.TB, when string, c *net.TCPConn, rto RTO, r Ratio) {
	t.Helper()
	const least, most = 200 * time.Millisecond, 120 * time.Second
	i := tcpInfo(t, c)
	srtt := time.Duration(i.Rtt) * us
	deviation := 4 * time.Duration(i.Rttvar) * us
	got := time.Duration(i.Rto) * us
	want := srtt + max(deviation, least)
	calm := deviation < least
	switch rto {
	case RTOBounds:
		want = srtt + max(deviation, times(least, r))
		calm = deviation < times(least, r)
	case RTOPaper:
		want = times(want, r)
	}
	want = min(want, most)
	t.Logf("%s: srtt %s, deviation %s, rto %s, want %s", when, srtt, deviation, got, want)
	if got < want*95/100 || calm && got > want*3/2 {
		t.Errorf("%s: srtt %s, deviation %s, rto %s, want %s", when, srtt, deviation, got, want)
	}
}

// Without an answer, SYN and SYN-ACK are retransmitted after the initial RTO.
func TestModuleInitialRTO(t *testing.T) {
	k, _ := loaded(t)
	r := Ratio{10, 1}
	for rto, want := range map[RTO]time.Duration{
		RTONone: time.Second, RTOBounds: 10 * time.Second, RTOPaper: 10 * time.Second,
	} {
		for _, lost := range []byte{flagSYN, flagSYN | flagACK} {
			p := &path{delay: time.Millisecond}
			a, b := warped(t, k, r, TCP{RTO: rto}, p)
			count := map[byte]int{}
			p.losing(func(s segment) bool {
				kind := s.flags & (flagSYN | flagACK)
				count[kind]++
				// Lose the first. A repeated SYN is lost too, because it would be answered at once.
				return kind == lost && count[kind] == 1 || kind == flagSYN && lost != flagSYN && count[kind] > 1
			})
			connect(t, a, b)
			again := p.seen(func(s segment) bool { return s.flags&(flagSYN|flagACK) == lost })
			if len(again) < 2 {
				t.Fatalf("rto %s, flags %#x: no retransmission", rto, lost)
			}
			took := again[1].sent - again[0].sent
			t.Logf("rto %s, flags %#x: sent again after %s of the clock, %s of real time", rto, lost, took,
				real(took, r))
			// It may be a tick early, and late on a busy machine, but less than twice the RTO.
			if took < want*9/10 || took > want+8*time.Second {
				t.Errorf("rto %s, flags %#x: retransmitted after %s, want %s", rto, lost, took, want)
			}
		}
	}
}

// bulk sends for a time of the clock, and returns the number of bytes that arrived.
func bulk(t testing.TB, client, server *net.TCPConn, d time.Duration) (received int64) {
	t.Helper()
	arrived := make(chan int64)
	go func() {
		n, _ := io.Copy(io.Discard, server)
		arrived <- n
	}()
	data := make([]byte, 16<<10)
	for end := time.Now().Add(d); time.Now().Before(end); {
		if _, err := client.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	return <-arrived
}

// seconds returns the real time that a long trial lasts.
func seconds() time.Duration {
	if text := os.Getenv("AIRTIDE_TIMEWARP_SECONDS"); text != "" {
		if d, err := time.ParseDuration(text + "s"); err == nil {
			return d
		}
	}
	return 10 * time.Second
}

// Stalls of a path that are shorter than the least RTO of real time cause timeouts in accelerated
// time, unless the RTO follows (Onozato et al. 2019). A trial does not count if a busy machine made
// the path late.
func TestModuleSpuriousTimeouts(t *testing.T) {
	k, _ := loaded(t)
	const tries, tooLate = 5, 50 * time.Millisecond
	for _, c := range []struct {
		ratio    Ratio
		rto      RTO
		timeouts bool
	}{
		{One, RTONone, false},
		{Ratio{10, 1}, RTONone, true},
		{Ratio{10, 1}, RTOBounds, false},
		{Ratio{10, 1}, RTOPaper, false},
	} {
		counted := false
		for try := 0; try < tries && !counted; try++ {
			p := &path{delay: 10 * time.Millisecond, stallEvery: time.Second, stallFor: 100 * time.Millisecond}
			a, b := warped(t, k, c.ratio, TCP{RTO: c.rto}, p)
			a.sysctl(t, "net.ipv4.tcp_early_retrans", "0") // tail loss probes hide some
			client, server := connect(t, a, b)
			socketOf(t, client, func(fd int) error {
				return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 64<<10)
			})
			before := a.errors(t)
			received := bulk(t, client, server, times(seconds(), c.ratio))
			e := a.errors(t).Since(before)
			late := real(p.late, c.ratio)
			t.Logf(
				"ratio %s, rto %s: %d timeouts, %d undone, %d DSACKs, %d sent again, %.2f Mbit/s of real time, "+
					"path at most %s late",
				c.ratio, c.rto, e["TCPTimeouts"], e["TCPLossUndo"], e["TCPDSACKRecv"], e["RetransSegs"],
				float64(received)*8/seconds().Seconds()/1e6, late.Round(time.Millisecond))
			asExpected := c.timeouts == (e["TCPTimeouts"] > 0)
			if !asExpected && late > tooLate {
				continue
			}
			counted = true
			if !asExpected {
				t.Errorf("ratio %s, rto %s: %d timeouts, want any: %t", c.ratio, c.rto, e["TCPTimeouts"], c.timeouts)
			}
		}
		if !counted {
			t.Errorf("ratio %s, rto %s: the path was late in all %d trials", c.ratio, c.rto, tries)
		}
	}
}

// scripts/test-timewarp runs this test last: no module, program or congestion control is left.
func TestNothingIsLeft(t *testing.T) {
	if os.Getenv(moduleVariable) == "" {
		t.Skip("needs a kernel with the module: make test-timewarp")
	}
	k := Running()
	if k.Loaded() {
		t.Error("the module is still loaded")
	}
	root := must(rootCgroup())(t)
	defer unix.Close(root)
	err := eachInitialRTO(root, func(*ebpf.Program) error {
		return errors.New("a program for the initial RTO is attached")
	})
	if err != nil {
		t.Error(err)
	}
	for _, name := range []string{"tcp_congestion_control", "tcp_available_congestion_control"} {
		if text := must(file.Line("/proc/sys/net/ipv4/" + name))(t); strings.Contains(text, cubicName) {
			t.Errorf("%s: got %s, want it without %s", name, text, cubicName)
		}
	}
}
