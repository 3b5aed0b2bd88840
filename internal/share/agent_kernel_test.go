//go:build kernel

package share

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"airtide/internal/observe/source"
	"airtide/internal/share/cellkey"
	"airtide/internal/share/control"
	"airtide/test/need"
	"airtide/test/testnet"
)

// running is an agent of a test.
type running struct {
	stop  context.CancelFunc
	ended chan error

	mu     sync.Mutex
	status Status
	lifted int // steps without bounds
}

func (r *running) lifts() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.lifted
}

func (r *running) now() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// waitForEachOther waits until two agents know each other and no others.
func waitForEachOther(t *testing.T, a, b *running) {
	t.Helper()
	testnet.Eventually(t, longEnough, "both to know each other", func() bool {
		return len(a.now().Peers) == 1 && len(b.now().Peers) == 1
	})
}

// end ends the agent and waits until it has restored everything.
func (r *running) end(t *testing.T) {
	t.Helper()
	r.stop()
	if err := <-r.ended; err != nil {
		t.Error(err)
	}
	r.ended <- nil
}

func run(t *testing.T, h *testnet.Host, c Config) *running {
	t.Helper()
	c.MulticastBps = usualMulticast
	return runAsTold(t, h, c)
}

func runAsTold(t *testing.T, h *testnet.Host, c Config) *running {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r := &running{stop: stop, ended: make(chan error, 1)}
	c.Interface = "eth0"
	c.Source = source.BPF
	if len(c.Link.Peers) == 0 {
		c.Link.Interface = "eth0"
	}
	c.Step = func(s Status) {
		r.mu.Lock()
		defer r.mu.Unlock()
		s.Windows = slices.Clone(s.Windows)
		r.status = s
		if !s.Bounded {
			r.lifted++
		}
	}
	go func() { r.ended <- h.Do(func() error { return Run(ctx, c) }) }()
	t.Cleanup(func() {
		stop()
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
	})
	return r
}

// One of two terminals sends. It has a bound only while the other is present.
func TestTwoAgentsShare(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	if err := n.Client.Rate(50e6, 300_000); err != nil {
		t.Fatal(err)
	}
	client, server := n.Connect(testnet.Dial{CongestionControl: "reno"})
	testnet.Stream(t, client, server)
	key := cellkey.New()
	a := run(t, n.Client, Config{Key: key, Policy: control.Shares, MaxBps: 50e6})
	testnet.Eventually(t, longEnough, "the agent to see its flow", func() bool { return a.now().Own.RateBps > 1e6 })
	if s := a.now(); s.Bounded || !strings.Contains(s.Reason, "no other terminal") || len(s.Windows) > 0 {
		t.Errorf("status without another terminal: got %+v, want no bound", s)
	}
	b := run(t, n.Server, Config{Key: key, Policy: control.Shares, MaxBps: 50e6})
	// The other terminal sends nothing, so the client has the whole rate of 50 Mbit/s.
	testnet.Eventually(t, longEnough, "a bound", func() bool {
		s := a.now()
		return s.Bounded && len(s.Windows) == 1 && len(b.now().Peers) == 1
	})
	s := a.now()
	local := client.LocalAddr().String()
	w := s.Windows[0]
	if w.Local != netip.MustParseAddrPort(local) || w.Packets < 10 || w.Packets > 2000 {
		t.Errorf("windows %+v, want 10 to 2000 packets for %s", s.Windows, local)
	}
	if cc := testnet.CongestionControl(t, client); !strings.HasPrefix(cc, "cubic_bound_") {
		t.Errorf("congestion control: got %s, want cubic_bound", cc)
	}
	testnet.Eventually(t, 10*time.Second, "the window to be bounded", func() bool {
		return testnet.Info(t, client).Snd_cwnd <= a.now().Windows[0].Packets+1
	})
	began := time.Now()
	b.stop()
	inTime(t, began, "no bounds", func() bool { return !a.now().Bounded && len(a.now().Windows) == 0 })
	b.end(t)
	a.end(t)
	if cc := testnet.CongestionControl(t, client); cc != "reno" {
		t.Errorf("congestion control after the agent: got %s, want reno", cc)
	}
}

// Uploads run over IPv6, and over IPv4 through an IPv6 socket.
func TestUploadsOfEveryFamilyAreBounded(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	if err := n.Client.Rate(20e6, 1<<20); err != nil {
		t.Fatal(err)
	}
	dials := []testnet.Dial{{V6: true}, {Mapped: true}}
	clients := make([]*net.TCPConn, len(dials))
	for i, d := range dials {
		var server *net.TCPConn
		clients[i], server = n.Connect(d)
		testnet.Stream(t, clients[i], server)
	}
	key := cellkey.New()
	a := run(t, n.Client, Config{Key: key, Policy: control.Shares, MaxBps: lowRate})
	run(t, n.Server, Config{Key: key, Policy: control.Observe, MaxBps: lowRate})
	for i, c := range clients {
		at := netip.MustParseAddrPort(c.LocalAddr().String())
		testnet.Eventually(t, longEnough, "a window that is bounded", func() bool {
			for _, w := range a.now().Windows {
				if w.Local.Port() == at.Port() && w.Local.Addr().Unmap() == at.Addr().Unmap() && w.Packets > 0 {
					return testnet.Info(t, c).Snd_cwnd <= w.Packets+1
				}
			}
			return false
		})
		if cc := testnet.CongestionControl(t, clients[i]); !strings.HasPrefix(cc, "cubic_bound_") {
			t.Errorf("congestion control of %+v: got %s", dials[i], cc)
		}
	}
}

// iperf3 sets the congestion control of -C after it has connected. Its flows are bounded like
// others, those that are older than the agent, too, and the status blames nobody.
func TestUploadsOfIperf3AreBoundedByAnyCongestionControl(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	if err := n.Client.Rate(20e6, 1<<20); err != nil {
		t.Fatal(err)
	}
	iperf3 := need.Tool(t, "iperf3")
	upload := func(port int, congestion string) {
		server := exec.CommandContext(t.Context(), iperf3, "-s", "-1", "-p", strconv.Itoa(port))
		client := exec.CommandContext(t.Context(), iperf3, "-c", n.Server.V4.String(), "-p", strconv.Itoa(port),
			"-C", congestion, "-t", "300")
		if err := n.Server.Start(server); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = server.Wait() })
		testnet.Eventually(t, longEnough, "iperf3 to listen", func() bool {
			out, err := n.Server.Run("ss", "-Htln", "sport", "=", fmt.Sprintf(":%d", port))
			return err == nil && out != ""
		})
		if err := n.Client.Start(client); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = client.Process.Kill()
			_ = client.Wait()
		})
	}
	names := []string{"cubic", "reno", "bbr"}
	for i, name := range names {
		upload(5201+i, name)
	}
	key := cellkey.New()
	a := run(t, n.Client, Config{Key: key, Policy: control.Shares, MaxBps: lowRate})
	run(t, n.Server, Config{Key: key, Policy: control.Observe, MaxBps: lowRate})
	testnet.Eventually(t, longEnough, "a bound", func() bool { return bound(a.now()) })
	for i, name := range names {
		upload(5301+i, name)
	}
	window := regexp.MustCompile(`\bcwnd:(\d+)`)
	for i, name := range names {
		for _, port := range []int{5201 + i, 5301 + i} {
			what := fmt.Sprintf("iperf3 -C %s at port %d to be bounded", name, port)
			testnet.Eventually(t, longEnough, what, func() bool {
				// The connection of the data is the one with a window: the other is idle.
				out, err := n.Client.Run("ss", "-Hntie", "dport", "=", fmt.Sprintf(":%d", port))
				if err != nil {
					t.Fatal(err)
				}
				for _, w := range a.now().Windows {
					if int(w.Remote.Port()) != port || w.Packets == 0 {
						continue
					}
					_, own, _ := strings.Cut(out, w.Local.String())
					found := window.FindStringSubmatch(own)
					if len(found) == 0 {
						continue
					}
					packets, _ := strconv.Atoi(found[1])
					return packets <= int(w.Packets)+1 && strings.Contains(own, "cubic_bound_")
				}
				return false
			})
		}
	}
	if s := a.now(); len(s.Unbound) > 0 || s.ForeignQueues || !s.Bounded {
		t.Errorf("the status: unbound %v, foreign queues %t, bounded %t (%s)",
			s.Unbound, s.ForeignQueues, s.Bounded, s.Reason)
	}
}

// The other end sends. It sees the bounded receive window while another terminal is present.
func TestDownloadsAreBounded(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	client, server := n.Connect(testnet.Dial{})
	testnet.Stream(t, server, client)
	key := cellkey.New()
	a := run(t, n.Client, Config{Key: key, Policy: control.Shares, MaxBps: 50e6})
	testnet.Eventually(t, longEnough, "the agent to see its flow", func() bool { return a.now().Own.DownloadBps > 1e6 })
	b := run(t, n.Server, Config{Key: key, Policy: control.Observe, MaxBps: 50e6})
	testnet.Eventually(t, longEnough, "a bound", func() bool {
		s := a.now()
		return s.Bounded && len(s.Windows) == 1 && s.Windows[0].ReceiveBytes > 0
	})
	if s := a.now(); s.Windows[0].Local.String() != client.LocalAddr().String() || s.Windows[0].Packets > 0 {
		t.Errorf("windows %+v, the flow is %s", s.Windows, client.LocalAddr())
	}
	testnet.Eventually(t, 10*time.Second, "the window to be bounded", func() bool {
		s := a.now()
		return len(s.Windows) == 1 && testnet.Info(t, server).Snd_wnd <= s.Windows[0].ReceiveBytes+1<<14
	})
	if s := a.now(); s.Own.MinRTTUs == 0 || s.Own.RTTUs < s.Own.MinRTTUs {
		t.Errorf("RTTs of the receiver: got %+v", s.Own)
	}
	began := time.Now()
	b.stop()
	inTime(t, began, "no bounds", func() bool {
		return !a.now().Bounded && len(a.now().Windows) == 0 && testnet.Info(t, server).Snd_wnd > 1<<16
	})
}

// A terminal whose standalone rate nobody knows sends over 100 Mbit/s: it shares its queue only.
func TestAnUnknownStandaloneRateBoundsTheQueue(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	if err := n.Client.Rate(100e6, 1<<18); err != nil {
		t.Fatal(err)
	}
	client, server := n.Connect(testnet.Dial{})
	testnet.Stream(t, client, server)
	key := cellkey.New()
	a := run(t, n.Client, Config{Key: key, Policy: control.Shares})
	run(t, n.Server, Config{Key: key, Policy: control.Observe})
	testnet.Eventually(t, longEnough, "a bound, and the rate of the path", func() bool {
		s := a.now()
		return s.Own.StandaloneSource == "unknown" && s.Own.BoundBps == 0 && s.Bounded && len(s.Windows) == 1 &&
			s.Own.UploadBps > 80e6 && s.Own.UploadBps < 120e6
	})
}

func TestOtherKeysAreOtherCells(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	a := run(t, n.Client, Config{Key: cellkey.New(), Policy: control.Observe})
	b := run(t, n.Server, Config{Key: cellkey.New(), Policy: control.Observe})
	testnet.Eventually(t, longEnough, "datagrams of the other", func() bool {
		return a.now().Datagrams["other_cell"] > 5 && b.now().Datagrams["other_cell"] > 5
	})
	if len(a.now().Peers)+len(b.now().Peers) > 0 {
		t.Errorf("peers of terminals with different keys: got %+v and %+v, want none", a.now().Peers, b.now().Peers)
	}
}
