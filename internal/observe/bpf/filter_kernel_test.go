//go:build kernel

package bpf

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/tcp"
	"airtide/test/testnet"
)

func onPrefixes(prefixes ...string) (f filter.Filter) {
	for _, p := range prefixes {
		f.Prefixes = append(f.Prefixes, netip.MustParsePrefix(p))
	}
	return f
}

// six are the ends of three connections, one of each family, by name: "v4 client", "mapped server",
// ...
func six(t *testing.T, n *testnet.Network) map[string]*net.TCPConn {
	t.Helper()
	ends := map[string]*net.TCPConn{}
	for name, dial := range map[string]testnet.Dial{"v4": {}, "v6": {V6: true}, "mapped": {Mapped: true}} {
		client, server := n.Connect(dial)
		ends[name+" client"] = client
		ends[name+" server"] = server
	}
	return ends
}

// named turns the flows of a recording into the names of the ends, and other flows into their
// addresses.
func named(r *recording, n *testnet.Network, ends map[string]*net.TCPConn) (names []string) {
	for id, f := range r.flows {
		name := f.String()
		for end, c := range ends {
			netns := n.Client.NetNS
			if strings.HasSuffix(end, "server") {
				netns = n.Server.NetNS
			}
			if f.NetNS == netns && tcp.Endpoint(f.Local) == endpoint(c.LocalAddr()) &&
				tcp.Endpoint(f.Remote) == endpoint(c.RemoteAddr()) {
				name = end
			}
		}
		if len(r.packets(id)) == 0 {
			name += " without samples"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func TestFiltersLetThroughExactlyTheirFlows(t *testing.T) {
	n := newNetwork(t, 0)
	old := six(t, n)
	for _, c := range []struct {
		name   string
		filter filter.Filter
		want   func(end string) bool
	}{
		{
			"namespace",
			filter.Filter{NetNS: []uint32{1, n.Server.NetNS}},
			func(end string) bool { return strings.HasSuffix(end, "server") },
		},
		{
			"port", onPorts(1, portOf(old["v6 server"])),
			func(end string) bool { return strings.HasPrefix(end, "v6") },
		},
		{
			"IPv4 address, for v4-mapped sockets as well", onPrefixes("192.0.2.0/24", "10.77.0.2/32"),
			func(end string) bool { return !strings.HasPrefix(end, "v6") },
		},
		{"IPv6 prefix", onPrefixes("fd77::/32"), func(end string) bool { return strings.HasPrefix(end, "v6") }},
		{
			"prefix that ends within a byte", onPrefixes("10.64.0.0/11"),
			func(end string) bool { return !strings.HasPrefix(end, "v6") },
		},
		{"prefix of nobody", onPrefixes("10.96.0.0/11", "fd77:1::/32"), func(string) bool { return false }},
		{
			"all lists must match", filter.Filter{
				NetNS: []uint32{n.Client.NetNS}, Prefixes: onPrefixes("10.77.0.0/24").Prefixes,
				PIDs: []uint32{uint32(os.Getpid())},
			}, func(end string) bool { return end == "v4 client" || end == "mapped client" },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := c.filter
			if f.NetNS == nil {
				// Other tests run on other networks with these addresses.
				f.NetNS = []uint32{n.Client.NetNS, n.Server.NetNS}
			}
			obs := observe(t, n, Options{Filter: f})
			ends := maps.Clone(old)
			if c.name != "port" {
				for name, conn := range six(t, n) {
					ends["new "+name] = conn
					defer linger0(t, conn)
				}
			}
			var want []string
			for name := range ends {
				if c.want(strings.TrimPrefix(name, "new ")) {
					want = append(want, name)
				}
			}
			slices.Sort(want)
			// The owners of the old ones are found by and by.
			exchange := func() {
				for name, client := range ends {
					if server := ends[strings.Replace(name, "client", "server", 1)]; server != client {
						send(t, client, server, 1)
						send(t, server, client, 1)
					}
				}
			}
			exchange()
			exchange()
			if f.PIDs != nil {
				obs.await(time.Minute, "the owners", func(r *recording) bool {
					exchange()
					return len(named(r, n, ends)) >= len(want)
				})
			}
			obs.check(func(t *testing.T, r *recording) {
				if got := named(r, n, ends); !slices.Equal(got, want) {
					t.Errorf("observed %q, want %q", got, want)
				}
			})
		})
	}
}

// A flow's owner may be known only long after its first segment. Until then it is kept back, and
// nothing of it gets out when it turns out not to pass.
func TestFiltersByOwner(t *testing.T) {
	type scene struct {
		n                        *testnet.Network
		dialer, acceptor, server *helper // server accepts and never reads
		outer, inner             uint64
	}
	for _, c := range []struct {
		name   string
		filter func(s *scene) filter.Filter
		want   []string
	}{
		{
			"process that dials",
			func(s *scene) filter.Filter { return filter.Filter{PIDs: []uint32{s.dialer.pid()}} },
			[]string{"dialer"},
		},
		{
			"process that accepts",
			func(s *scene) filter.Filter { return filter.Filter{PIDs: []uint32{s.acceptor.pid()}} },
			[]string{"acceptor"},
		},
		{
			"process that accepts and only sends",
			func(s *scene) filter.Filter { return filter.Filter{PIDs: []uint32{s.server.pid()}} },
			[]string{"sender"},
		},
		{
			"names of processes",
			func(*scene) filter.Filter { return filter.Filter{Comms: []string{"dialer", "sender"}} },
			[]string{"dialer", "sender"},
		},
		{
			"cgroup", func(s *scene) filter.Filter { return filter.Filter{Cgroups: []uint64{s.inner}} },
			[]string{"dialer"},
		},
		{
			"cgroup above", func(s *scene) filter.Filter { return filter.Filter{Cgroups: []uint64{s.outer}} },
			[]string{"dialer"},
		},
		{
			"cgroup above, and name", func(s *scene) filter.Filter {
				return filter.Filter{Cgroups: []uint64{s.outer}, Comms: []string{"acceptor"}}
			}, nil,
		},
	} {
		// No more at once than there are processors: each source scans /proc for owners.
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t, 0)
			outer, inner := cgroupFolder(t)
			s := &scene{n: n, outer: inodeOfFolder(t, outer), inner: inodeOfFolder(t, inner)}
			serve := func(name, command string) (*helper, netip.AddrPort) {
				listener, to, err := n.Server.Listen()
				if err != nil {
					t.Fatal(err)
				}
				defer listener.Close()
				file, err := listener.File()
				if err != nil {
					t.Fatal(err)
				}
				defer file.Close()
				return startHelper(t, n.Server, name, command, func(cmd *exec.Cmd) {
					cmd.ExtraFiles = []*os.File{file}
				}), to
			}
			var toAcceptor, toServer netip.AddrPort
			s.acceptor, toAcceptor = serve("acceptor", "accept 1 1000")
			s.server, toServer = serve("sender", "serve 1 1000")
			// The filter needs its pid before it dials.
			s.dialer = startHelper(t, n.Client, "dialer", fmt.Sprintf("dial %s 1000", toAcceptor), func(cmd *exec.Cmd) {
				inCgroup(t, inner)(cmd)
				cmd.Env = append(cmd.Env, "AIRTIDE_BPF_TEST_WAIT=1")
			})
			f := c.filter(s)
			f.NetNS = []uint32{n.Client.NetNS, n.Server.NetNS}
			obs := observe(t, n, Options{Filter: f})
			s.dialer.goOn()
			s.dialer.inodes()
			s.acceptor.inodes()
			client, err := n.Client.Dial(toServer)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			if _, err := io.ReadFull(client, make([]byte, 1000)); err != nil {
				t.Fatal(err)
			}
			s.server.inodes()
			names := func(r *recording) (names []string) {
				for _, f := range r.flows {
					names = append(names, f.Comm)
				}
				slices.Sort(names)
				return names
			}
			ticks := time.NewTicker(10 * time.Millisecond)
			defer ticks.Stop()
			poke := func() {
				_, _ = client.Write([]byte{1})
				<-ticks.C
			}
			start := time.Now()
			if len(c.want) > 0 {
				obs.await(
					30*time.Second, "the owner",
					func(r *recording) bool { poke(); return len(names(r)) >= len(c.want) },
				)
			}
			// Long enough for the wrong ones to be found as well, on an emulated machine too.
			found := time.Now()
			for time.Since(found) < max(4*time.Second, 2*found.Sub(start)) {
				poke()
			}
			obs.check(func(t *testing.T, r *recording) {
				if got := names(r); !slices.Equal(got, c.want) {
					t.Errorf("observed %q, want %q: %v", got, c.want, r.flows)
				}
				for id := range r.flows {
					if len(r.samples[id]) == 0 || len(r.of(id, tcp.EventOpen)) != 1 {
						t.Errorf("flow %d: %d samples, %d open events", id, len(r.samples[id]),
							len(r.of(id, tcp.EventOpen)))
					}
				}
				if n := len(r.source.flows.wanted); n != 0 {
					t.Errorf("%d flows are still searched for", n)
				}
			})
		})
	}
}

func TestDensities(t *testing.T) {
	const every = 25 * time.Millisecond
	for _, c := range []struct {
		name    string
		density filter.Density
	}{
		{"every", filter.Density{}},
		{"change", filter.Density{Mode: filter.OnChange}},
		{"at most every 25 ms", filter.Density{Mode: filter.AtMost, Every: every}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t, 10*time.Millisecond)
			obs := observeNetwork(t, n, Options{Density: c.density})
			client, server := n.Connect(testnet.Dial{CongestionControl: "cubic"})
			n.Client.Out.DropData(50, 1)
			send(t, client, server, 600*mss)
			// Small steps: only the acknowledged bytes change.
			for range 100 {
				send(t, client, server, 1)
			}
			quiet(t, client)
			// One segment was lost; a busy machine may send another again in vain.
			retransmitted := int(testnet.Info(t, client).Total_retrans)
			if retransmitted == 0 {
				t.Fatal("nothing was sent again")
			}
			segments := int(testnet.Info(t, client).Segs_in) - 1 - int(counters(t, n.Client)["TCPBacklogCoalesce"])
			obs.check(func(t *testing.T, r *recording) {
				f := r.flow(t, client)
				packets := r.packets(f.ID)
				var again int64
				for _, e := range ofKind(r.events[f.ID], tcp.EventRetransmit) {
					again += e.Value
				}
				if again != int64(retransmitted) {
					t.Errorf("%d segments sent again, want %d whatever the density", again, retransmitted)
				}
				switch c.density.Mode {
				case filter.EveryAck:
					if len(packets) != segments {
						t.Errorf("%d samples of %d segments", len(packets), segments)
					}
				case filter.OnChange:
					if len(packets) > segments-90 || len(packets) < 20 {
						t.Errorf("%d samples of %d segments, of which 100 changed nothing", len(packets), segments)
					}
					fields := []tcp.Field{
						tcp.CwndPackets, tcp.SsthreshPackets, tcp.CAStateField, tcp.LostPackets,
						tcp.RetransmitsPackets, tcp.Backoff, tcp.RwndLimitedUs, tcp.SndbufLimitedUs,
					}
					states := map[int64]bool{}
					unchanged := 0
					for i, s := range packets {
						states[s.Values[tcp.CAStateField]] = true
						same := i > 0
						for _, field := range fields {
							same = same && s.Values[field] == packets[i-1].Values[field]
						}
						unchanged += btoi(same)
					}
					// A limit that lasts less than a tick of the timer changes no field.
					if unchanged > len(packets)/2 {
						t.Errorf("%d of %d samples change nothing", unchanged, len(packets))
					}
					if !states[int64(tcp.CARecovery)] {
						t.Errorf("states sampled: %v, want recovery among them", states)
					}
				case filter.AtMost:
					if len(packets) < 3 {
						t.Errorf("%d samples", len(packets))
					}
					for i := 1; i < len(packets); i++ {
						if gap := packets[i].TimeNs - packets[i-1].TimeNs; gap < int64(every) {
							t.Errorf("samples %d and %d are %s apart, want at least %s", i-1, i, time.Duration(gap),
								every)
						}
					}
				}
			})
		})
	}
}
