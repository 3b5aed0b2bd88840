//go:build kernel

package testnet

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/leftover"
)

func TestFaultsHitExactlyTheSegmentsThatTheyAreToldTo(t *testing.T) {
	const segments = 60
	for _, c := range []struct {
		name   string
		order  func(n *Network)
		counts func(c Counts) uint64
		want   uint64
		check  func(t *testing.T, info *unix.TCPInfo, server map[string]uint64)
	}{
		{
			"data is lost and sent again", func(n *Network) { n.Client.Out.DropData(10, 3) },
			func(c Counts) uint64 { return c.Dropped }, 3,
			func(t *testing.T, info *unix.TCPInfo, _ map[string]uint64) {
				if info.Total_retrans < 3 {
					t.Errorf("%d retransmissions, want at least 3", info.Total_retrans)
				}
			},
		},
		{
			"every kth data segment is lost", func(n *Network) { n.Client.Out.DropEvery(30) },
			func(c Counts) uint64 { return c.Dropped }, 2, nil,
		},
		{
			"the own device refuses data", func(n *Network) { n.Client.Out.RefuseData(5, 2) },
			func(c Counts) uint64 { return c.RefusedData }, 2, nil,
		},
		{
			"marks reach the receiver", func(n *Network) { n.Client.Out.MarkCE(5, 4) },
			func(c Counts) uint64 { return c.Marked }, 4,
			func(t *testing.T, info *unix.TCPInfo, server map[string]uint64) {
				if server["InCEPkts"] != 4 || info.Delivered_ce == 0 {
					t.Errorf("the server saw %d marked packets, the client %d echoed deliveries", server["InCEPkts"],
						info.Delivered_ce)
				}
			},
		},
		{
			"held data arrives out of order", func(n *Network) { n.Client.Out.HoldData(5, 1, 20*time.Millisecond) },
			func(c Counts) uint64 { return c.Held }, 1,
			func(t *testing.T, info *unix.TCPInfo, server map[string]uint64) {
				if server["TCPOFOQueue"] == 0 {
					t.Error("the server queued nothing out of order")
				}
			},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := New(t, Options{Segments: true})
			for _, h := range []*Host{n.Client, n.Server} {
				if err := h.Sysctl("net.ipv4.tcp_ecn", "1"); err != nil {
					t.Fatal(err)
				}
			}
			client, server := n.Connect(Dial{CongestionControl: "cubic"})
			c.order(n)
			MustSend(t, client, server, 1448*segments)
			n.Settle(50 * time.Millisecond)
			if got := c.counts(n.Client.Out.Counts()); got != c.want {
				t.Errorf("hit %d segments, want %d (%+v)", got, c.want, n.Client.Out.Counts())
			}
			counters, err := n.Server.Counters()
			if err != nil {
				t.Fatal(err)
			}
			if c.check != nil {
				c.check(t, Info(t, client), counters)
			}
		})
	}
}

func TestSegmentsAreNotJoined(t *testing.T) {
	n := New(t, Options{Segments: true})
	client, server := n.Connect(Dial{})
	MustSend(t, client, server, 1448*500)
	if got, sent := n.Client.Out.Counts().Data, Info(t, client).Data_segs_out; got != uint64(sent) || got < 500 {
		t.Errorf("%d packets carried data, TCP sent %d segments", got, sent)
	}
}

func TestDelayAddsToTheRoundTrip(t *testing.T) {
	n := New(t, Options{Segments: true})
	n.Client.Out.Delay(10 * time.Millisecond)
	n.Server.Out.Delay(15 * time.Millisecond)
	client, server := n.Connect(Dial{V6: true})
	MustSend(t, client, server, 1448*100)
	info := Info(t, client)
	if info.Min_rtt < 25000 || info.Min_rtt > 40000 {
		t.Errorf("minimum RTT is %d µs, want a little more than 25000", info.Min_rtt)
	}
	// Nothing is lost on the way. A machine that stands still may make TCP believe so.
	if c := n.Client.Out.Counts(); c.HoldFailed != 0 || c.Dropped != 0 {
		t.Errorf("%d retransmissions, counts %+v", info.Total_retrans, c)
	}
}

func TestRateLimitsWhatTheHostSends(t *testing.T) {
	n := New(t, Options{Segments: true})
	if err := n.Client.Rate(20e6, 200_000); err != nil {
		t.Fatal(err)
	}
	took := time.Hour
	for try := 0; try < 5 && took > 800*time.Millisecond; try++ { // a machine may stand still for a while
		client, server := n.Connect(Dial{CongestionControl: "cubic"})
		start := time.Now()
		MustSend(t, client, server, 1e6)
		took = time.Since(start)
		if took < 350*time.Millisecond {
			t.Errorf("1 MB at 20 Mbit/s took %s, want some 0.41 s", took)
		}
	}
	if took > 800*time.Millisecond {
		t.Errorf("1 MB at 20 Mbit/s took %s, want some 0.41 s", took)
	}
}

func TestCommandsRunInTheNamespace(t *testing.T) {
	if _, err := exec.LookPath("iperf3"); err != nil {
		t.Fatal("iperf3 is needed: apt-get install iperf3")
	}
	n := New(t, Options{})
	server := exec.Command("iperf3", "-s", "-1")
	if err := n.Server.Start(server); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	var out string
	Eventually(t, 5*time.Second, "iperf3 to connect", func() (ok bool) {
		var err error
		out, err = n.Client.Run("iperf3", "-c", n.Server.V4.String(), "-n", "1M", "-C", "cubic")
		return err == nil
	})
	if !strings.Contains(out, "receiver") {
		t.Errorf("iperf3 printed %q", out)
	}
}

func TestTheClassifierServesKernelsWithoutTCX(t *testing.T) {
	n := New(t, Options{Segments: true})
	var objects pathObjects
	if err := loadPathObjects(&objects, nil); err != nil {
		t.Fatal(err)
	}
	defer objects.Close()
	err := n.Server.Do(func() error {
		nic, err := net.InterfaceByName(device)
		if err != nil {
			return err
		}
		return attachClassifier(n.Server, nic.Index, objects.Segment.FD(), true)
	})
	if err != nil {
		t.Fatal(err)
	}
	client, server := n.Connect(Dial{})
	MustSend(t, client, server, 1448*10)
	var seen uint64
	if err := objects.Slots.Lookup(uint32(pathSlotSLOT_SEEN_DATA), &seen); err != nil {
		t.Fatal(err)
	}
	if want := n.Client.Out.Counts().Data; seen != want || seen == 0 {
		t.Errorf("the classifier saw %d data segments, TCX %d", seen, want)
	}
}

func TestNamespacesOfDeadRunsAreRemoved(t *testing.T) {
	gone := exec.Command("true")
	if err := gone.Run(); err != nil {
		t.Fatal(err)
	}
	name := namePrefix + leftover.Owner(gone.Process.Pid) + "-1-client"
	host, err := newHost(t, name)
	if err != nil {
		t.Fatal(err)
	}
	own := New(t, Options{})
	if _, err := os.Stat(filepath.Join(namespaceFolder, host.Name)); !os.IsNotExist(err) {
		t.Errorf("the namespace of a dead process is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(namespaceFolder, own.Client.Name)); err != nil {
		t.Errorf("the namespace of this process: %v", err)
	}
}

func TestNothingIsLeftWhenTheTestEnds(t *testing.T) {
	var names []string
	t.Run("network", func(t *testing.T) {
		n := New(t, Options{Segments: true})
		n.Client.Out.Delay(time.Millisecond)
		names = []string{n.Client.Name, n.Server.Name}
	})
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(namespaceFolder, name)); !os.IsNotExist(err) {
			t.Errorf("namespace %s is still there", name)
		}
	}
}
