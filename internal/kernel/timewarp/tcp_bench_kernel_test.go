//go:build kernel

package timewarp

import (
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/test/testnet"
)

// The effect of acceleration on TCP, measured once each on the path: the figures of
// docs/results/timewarp.md. Like the tests of the module they need a kernel that loads it, and most
// of a processor: MEASURE=1 scripts/test-timewarp.

// BenchmarkTCPTimers measures the effect of acceleration on TCP's other timers, on the path, for
// docs/results/timewarp.md.
func BenchmarkTCPTimers(t *testing.B) {
	k, _ := loaded(t)
	for _, r := range []Ratio{One, {10, 1}} {
		p := &path{delay: 5 * time.Millisecond}
		a, b := warped(t, k, r, TCP{}, p)
		client, server := connect(t, a, b)
		exchange(t, client, server, 3)
		for _, m := range []struct {
			name  string
			times int
			of    func() time.Duration
		}{
			{"delayed ACK", 9, func() time.Duration { return delayedACK(t, p, client, server) }},
			{
				"keep-alive probe after 20 s of the clock", 1,
				func() time.Duration { return keepAlive(t, p, client, server) },
			},
			{
				"tail loss probe of a single segment", 9,
				func() time.Duration { return tailLossProbe(t, p, client, server) },
			},
		} {
			var all []time.Duration
			for range m.times {
				all = append(all, m.of())
			}
			slices.Sort(all)
			took := all[len(all)/2]
			t.Logf("ratio %s: %s: %s of the clock, %s of real time, median of %d; srtt %s of real time", r, m.name,
				took.Round(us), real(took, r).Round(us), len(all), real(time.Duration(tcpInfo(t, client).Rtt)*us, r))
		}
	}
}

// delayedACK is the time that a host waits before it acknowledges a single segment.
func delayedACK(t testing.TB, p *path, client, server *net.TCPConn) time.Duration {
	one := make([]byte, 1)
	socketOf(t, server, func(fd int) error { return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_QUICKACK, 0) })
	at := p.now()
	if _, err := client.Write(one); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(server, one); err != nil {
		t.Fatal(err)
	}
	sent := p.wait(t, func(s segment) bool { return s.at >= at && s.forward && s.payload > 0 })
	answer := p.wait(t, func(s segment) bool { return s.at > sent.at && !s.forward })
	return answer.at - sent.at - p.delay
}

// keepAlive is after what time of silence a probe comes that is asked for after 20 s.
func keepAlive(t testing.TB, p *path, client, server *net.TCPConn) time.Duration {
	for _, c := range []*net.TCPConn{client, server} { // Go's own, so that the timer begins anew, and nobody else asks
		if err := c.SetKeepAlive(false); err != nil {
			t.Fatal(err)
		}
	}
	if err := client.SetKeepAliveConfig(
		net.KeepAliveConfig{Enable: true, Idle: 20 * time.Second, Interval: 20 * time.Second, Count: 5},
	); err != nil {
		t.Fatal(err)
	}
	all := p.seen(func(s segment) bool { return true })
	last := all[len(all)-1].at
	return p.wait(t, func(s segment) bool { return s.at > last && s.forward }).at - last
}

// tailLossProbe is after what time a segment is sent again that was lost alone.
func tailLossProbe(t testing.TB, p *path, client, server *net.TCPConn) time.Duration {
	n := 0
	p.losing(func(s segment) bool {
		if s.forward && s.payload > 0 {
			n++
		}
		return n == 1 && s.forward && s.payload > 0
	})
	at := p.now()
	one := make([]byte, 1)
	if _, err := client.Write(one); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(server, one); err != nil {
		t.Fatal(err)
	}
	p.losing(nil)
	sent := p.seen(func(s segment) bool { return s.at >= at && s.forward && s.payload > 0 })
	return sent[1].at - sent[0].at
}

// wait awaits a segment.
func (p *path) wait(tb testing.TB, like func(segment) bool) segment {
	tb.Helper()
	var all []segment
	testnet.Eventually(tb, time.Hour, "a segment", func() bool { // the clock's, which may be fast
		all = p.seen(like)
		return len(all) > 0
	})
	return all[0]
}

// A transfer that fills a queue, at N = 1 and accelerated: goodput and losses of each congestion
// control, for docs/results/timewarp.md.
func BenchmarkCongestionControls(t *testing.B) {
	k, _ := loaded(t)
	insertModules(t)
	scales := k.canScaleCubic()
	for _, cc := range []string{"reno", "cubic", "bbr", cubicName} {
		for _, r := range []Ratio{One, {10, 1}} {
			if cc == cubicName && (r == One || scales != nil) {
				t.Logf("%s at ratio %s: %v", cc, r, scales)
				continue
			}
			p := &path{delay: 25 * time.Millisecond, rate: 4e6 / 8, queue: 50 * time.Millisecond}
			a, b := warped(t, k, r, TCP{ScaledCubic: cc == cubicName}, p)
			a.sysctl(t, "net.ipv4.tcp_congestion_control", cc)
			client, server := connect(t, a, b)
			before := a.errors(t)
			began := p.now()
			received := bulk(t, client, server, times(2*seconds(), r))
			took := real(p.now()-began, r)
			e := a.errors(t).Since(before)
			t.Logf(
				"%s at ratio %s: %.2f Mbit/s of real time, %d sent again, %d recoveries, %d timeouts, path at "+
					"most %s late",
				cc, r,
				float64(received)*8/took.Seconds()/1e6, e["RetransSegs"], e["TCPSackRecovery"], e["TCPTimeouts"],
				real(p.late, r).Round(time.Millisecond))
		}
	}
}

// A pacing rate that a program sets is per second of the clock.
func BenchmarkPacing(t *testing.B) {
	k, _ := loaded(t)
	const rate = 50_000 // bytes/s
	for _, r := range []Ratio{One, {10, 1}} {
		p := &path{delay: 5 * time.Millisecond}
		a, b := warped(t, k, r, TCP{}, p)
		client, server := connect(t, a, b)
		socketOf(t, client, func(fd int) error {
			return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, rate)
		})
		began := p.now()
		received := bulk(t, client, server, times(seconds()/2, r))
		took := p.now() - began
		byClock := float64(received) / took.Seconds()
		byReal := float64(received) / real(took, r).Seconds()
		t.Logf("ratio %s: %.0f bytes/s of the clock, %.0f of real time", r, byClock, byReal)
		if byClock > 1.5*rate {
			t.Errorf("ratio %s: %.0f bytes per second of the clock, want %d at most", r, byClock, rate)
		}
	}
}

// An open question of Onozato et al. 2019: an app that sends 1 MB many times, at the RTTs of the
// Internet.
func BenchmarkInternetRTT(t *testing.B) {
	k, _ := loaded(t)
	insertModules(t)
	r := Ratio{10, 1}
	ways := []struct {
		name  string
		ratio Ratio
		tcp   TCP
	}{
		{"N = 1", One, TCP{RTO: RTONone}},
		{"N = 10, rto none", r, TCP{RTO: RTONone}},
		{"N = 10, rto bounds", r, TCP{}},
		{"N = 10, rto paper", r, TCP{RTO: RTOPaper}},
	}
	if k.canScaleCubic() == nil {
		ways = append(ways, struct {
			name  string
			ratio Ratio
			tcp   TCP
		}{"N = 10, rto bounds, scaled CUBIC", r, TCP{ScaledCubic: true}})
	}
	for _, rtt := range []time.Duration{
		0, 20 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond,
	} {
		for _, way := range ways {
			p := &path{delay: rtt / 2, rate: 8e6 / 8, queue: 100 * time.Millisecond}
			a, b := warped(t, k, way.ratio, way.tcp, p)
			if way.tcp.ScaledCubic {
				a.sysctl(t, "net.ipv4.tcp_congestion_control", cubicName)
			}
			before := a.errors(t)
			began := p.now()
			var received int64
			for p.now()-began < times(seconds(), way.ratio) {
				client, server := connect(t, a, b)
				received += megabyte(t, client, server)
			}
			took := real(p.now()-began, way.ratio)
			e := a.errors(t).Since(before)
			t.Logf(
				"RTT %s, %s: %.2f Mbit/s of real time, %d timeouts, %d sent again, %d SYNs again, path at most %s late",
				rtt, way.name,
				float64(received)*8/took.Seconds()/1e6, e["TCPTimeouts"], e["RetransSegs"], e["TCPSynRetrans"],
				real(p.late, way.ratio).Round(time.Millisecond))
		}
	}
}

func megabyte(t testing.TB, client, server *net.TCPConn) int64 {
	t.Helper()
	go func() {
		_, _ = client.Write(make([]byte, 1_000_000))
		_ = client.CloseWrite()
	}()
	n, err := io.Copy(io.Discard, server)
	if err != nil || n != 1_000_000 {
		t.Fatal(fmt.Errorf("%d bytes arrived: %w", n, err))
	}
	_ = client.Close()
	_ = server.Close()
	return n
}
