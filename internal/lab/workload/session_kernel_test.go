//go:build kernel

package workload

import (
	"context"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"airtide/internal/lab/machine"
	"airtide/internal/lab/plan"
	"airtide/internal/sys/leftover"
	"airtide/test/testnet"
)

// machines returns the two machines of a network.
func machines(n *testnet.Network) machine.Set {
	return machine.Set{
		machine.NewNamespace("phone", n.Client.Name, n.Client.V4),
		machine.NewNamespace("server", n.Server.Name, n.Server.V4),
	}
}

func prepare(t *testing.T, flows []plan.FlowSetup, m machine.Set, o Options) *Session {
	t.Helper()
	if o.Folder == "" {
		o.Folder = t.TempDir()
	}
	s, err := Prepare(t.Context(), flows, m, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// mustRun runs flows that must succeed, and returns their results by name.
func mustRun(t *testing.T, n *testnet.Network, o Options, flows ...plan.FlowSetup) map[string]*outcome {
	t.Helper()
	s := prepare(t, flows, machines(n), o)
	results := map[string]*outcome{}
	for i, r := range s.run(t.Context(), time.Now()) {
		if r.Error != "" {
			t.Errorf("%s: %s", r.Name, r.Error)
		}
		if r.Name != flows[i].Name || r.Protocol != string(flows[i].Flow.Protocol) || len(r.Output) == 0 {
			t.Errorf("result %d is %+v, want that of flow %s", i, r, flows[i].Name)
		}
		if c := r.Command; len(c) < 2 || filepath.Base(c[0]) != clients[flows[i].Flow.Protocol].Programs[0] {
			t.Errorf("the command of %s is %q", r.Name, c)
		}
		for _, file := range r.Output {
			if _, err := os.Stat(filepath.Join(s.options.Folder, file)); err != nil {
				t.Errorf("the output of %s: %v", r.Name, err)
			}
		}
		results[r.Name] = r
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	nothingLeft(t, n)
	return results
}

// processesIn lists the processes in a network namespace.
func processesIn(t *testing.T, h *testnet.Host) []string {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, l := range links {
		pid := strings.Split(l, "/")[2]
		if pid == strconv.Itoa(os.Getpid()) {
			continue // a network of a test may have borrowed the main thread
		}
		if target, err := os.Readlink(l); err == nil && target == "net:["+strconv.Itoa(int(h.NetNS))+"]" {
			name, _ := os.ReadFile(strings.Replace(l, "ns/net", "comm", 1))
			found = append(found, pid+" "+strings.TrimSpace(string(name)))
		}
	}
	return found
}

// nothingLeft checks that no process and no folder is left.
func nothingLeft(t *testing.T, n *testnet.Network) {
	t.Helper()
	for _, h := range []*testnet.Host{n.Client, n.Server} {
		if left := processesIn(t, h); len(left) > 0 {
			t.Errorf("still running on %s: %v", h.Name, left)
		}
	}
	if left, _ := filepath.Glob(
		filepath.Join(os.TempDir(), contentPrefix+leftover.Owner(os.Getpid())+"-*"),
	); len(left) > 0 {
		t.Errorf("still there: %v", left)
	}
}

// limit gives both directions a rate.
func limit(t *testing.T, n *testnet.Network, bps uint64) {
	t.Helper()
	for _, h := range []*testnet.Host{n.Client, n.Server} {
		if err := h.Rate(bps, 300_000); err != nil {
			t.Fatal(err)
		}
	}
}

// curlReports reads the reports of all curls of a flow.
func curlReports(t *testing.T, o Options, r *outcome) (all []curlReport) {
	t.Helper()
	for _, file := range r.Output {
		reports, _, err := readCurl(filepath.Join(o.Folder, file))
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range reports {
			if c.ExitCode == 0 {
				all = append(all, c)
			}
		}
	}
	return all
}

// other is a machine of another kind than a namespace.
type other struct{ machine.Machine }

func between[T int64 | float64](t *testing.T, what string, got, low, high T) {
	t.Helper()
	if got < low || got > high {
		t.Errorf("%s is %v, want %v to %v", what, got, low, high)
	}
}

func TestTCPGoesInTheDirectionOfItsFlow(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	limit(t, n, 50e6)
	for _, way := range []plan.Direction{plan.Forward, plan.Reverse, plan.Both} {
		t.Run(string(way), func(t *testing.T) {
			o := Options{Folder: t.TempDir()}
			r := mustRun(t, n, o, setup("bulk", 2500*time.Millisecond, plan.Flow{
				Protocol: plan.TCP, Direction: way, Parallel: 2, Congestion: "cubic",
			}))["bulk"]
			if (r.forward != nil) != (way != plan.Reverse) || (r.reverse != nil) != (way != plan.Forward) {
				t.Fatalf("forward %v, reverse %v for %s", r.forward, r.reverse, way)
			}
			for name, d := range map[string]*traffic{"forward": r.forward, "reverse": r.reverse} {
				if d == nil {
					continue
				}
				between(t, name+" rate", d.rateBps, 5e6, 51e6)
				between(t, name+" duration", int64(d.duration), 1.5e9, 2.9e9)
			}
			text, err := os.ReadFile(filepath.Join(o.Folder, r.Output[0]))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), `"sender_tcp_congestion":	"cubic"`) &&
				!strings.Contains(string(text), `"receiver_tcp_congestion":	"cubic"`) {
				t.Errorf("the flow's congestion control was not cubic")
			}
		})
	}
}

func TestARateLimitsTheFlowAsAWhole(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	r := mustRun(
		t, n, Options{}, setup("calls", 2*time.Second, plan.Flow{Protocol: plan.TCP, Rate: 8e6, Parallel: 4}),
	)["calls"]
	between(t, "rate", r.forward.rateBps, 6e6, 10e6)
}

func TestLossesOfDatagramsAreCounted(t *testing.T) {
	n := testnet.New(t, testnet.Options{Segments: true})
	// A queue shorter than the socket's, which would hold the sender back instead of losing
	// anything.
	if err := n.Client.Rate(10e6, 30_000); err != nil {
		t.Fatal(err)
	}
	results := mustRun(t, n, Options{},
		setup("light", 2*time.Second, plan.Flow{Protocol: plan.UDP, Rate: 2e6, Length: 1200, Direction: plan.Reverse}),
		setup("heavy", 2*time.Second, plan.Flow{Protocol: plan.UDP, Rate: 20e6, Length: 1470}))
	light := results["light"].reverse
	heavy := results["heavy"].forward
	if light == nil || heavy == nil {
		t.Fatalf("results %+v", results)
	}
	between(t, "rate of the light flow", light.rateBps, 1.5e6, 2.5e6)
	if light.lost != 0 || light.receivedBytes != light.received*1200 {
		t.Errorf("the light flow's traffic is %+v", light)
	}
	between(t, "rate of the heavy flow", heavy.rateBps, 1e6, 10.5e6)
	between(t, "datagrams that it lost", heavy.lost, heavy.sent/10, heavy.sent*95/100)
}

func TestHTTPGoesUntilItsStopOrItsCount(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	limit(t, n, 100e6)
	o := Options{Folder: t.TempDir()}
	results := mustRun(t, n, o,
		setup("put", 2*time.Second, plan.Flow{Protocol: plan.HTTPPut, Parallel: 2}),
		setup("get", 2*time.Second, plan.Flow{Protocol: plan.HTTPGet, Parallel: 2}),
		setup("puts", 20*time.Second, plan.Flow{Protocol: plan.HTTPPut, Size: 200e3, Transfers: 5}),
		setup("gets", 20*time.Second, plan.Flow{Protocol: plan.HTTPGet, Size: 200e3, Transfers: 5, Parallel: 3}))
	for name, d := range map[string]*traffic{"put": results["put"].forward, "get": results["get"].reverse} {
		if d == nil {
			t.Fatalf("%s has no traffic in its direction", name)
		}
		between(t, name+" rate", d.rateBps, 5e6, 105e6)
		between(t, name+" duration", int64(d.duration), 1.9e9, 4e9)
		if len(results[name].Transfers) != 0 {
			t.Errorf("%s completed %d transfers, want none: it is cut off", name, len(results[name].Transfers))
		}
	}
	for name, want := range map[string]int{"puts": 5, "gets": 15} {
		transfers := results[name].Transfers
		if len(transfers) != want {
			t.Errorf("%s completed %d transfers, want %d", name, len(transfers), want)
		}
		opened := 0
		connections := map[uint16]bool{}
		for _, tr := range transfers {
			if tr.Bytes != 200e3 || tr.TookS < 0.01 {
				t.Errorf("%s: transfer %+v, want 200000 bytes at 100 Mbit/s or less", name, tr)
			}
		}
		for _, c := range curlReports(t, o, results[name]) {
			opened += c.Connections
			connections[c.LocalPort] = true
		}
		if opened != want/5 || len(connections) != want/5 {
			t.Errorf("%s opened %d connections, with %d ports, for %d transfers: want one for each five", name, opened,
				len(connections), want)
		}
	}
}

func TestUploadsMayExceedTheDefaultLimitOfHTTPD(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	const size = 1<<30 + 1
	r := mustRun(
		t, n, Options{}, setup("put", time.Minute, plan.Flow{Protocol: plan.HTTPPut, Size: size, Transfers: 1}),
	)["put"]
	if len(r.Transfers) != 1 || r.Transfers[0].Bytes != size || r.forward.receivedBytes != size {
		t.Errorf("transfers %+v, want one of %d bytes", r.Transfers, size)
	}
}

func TestEachTransferHasAConnectionOfItsOwn(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	limit(t, n, 100e6)
	o := Options{Folder: t.TempDir()}
	r := mustRun(t, n, o,
		setup("counted", 20*time.Second, plan.Flow{Protocol: plan.Transfers, Size: 100e3, Transfers: 20}),
		setup("timed", 2*time.Second, plan.Flow{Protocol: plan.Transfers, Size: 100e3}))
	if got := len(r["counted"].Transfers); got != 20 {
		t.Errorf("completed %d transfers, want 20", got)
	}
	ports := map[uint16]bool{}
	for _, tr := range r["counted"].Transfers {
		if tr.Bytes != 100e3 {
			t.Errorf("transfer %+v, want 100000 bytes", tr)
		}
	}
	for _, c := range curlReports(t, o, r["counted"]) {
		ports[c.LocalPort] = true
		if c.Connections != 1 || c.ConnectTime <= 0 || c.TotalTime < c.ConnectTime {
			t.Errorf("transfer %+v, want one with a handshake", c)
		}
	}
	if len(ports) != 20 {
		t.Errorf("the transfers had %d ports, want 20", len(ports))
	}
	between(t, "transfers in 2 s", int64(len(r["timed"].Transfers)), 5, 250)
	between(t, "time of the timed flow", r["timed"].StopS-r["timed"].StartS, 1.9, 4)
}

func TestTransfersHaveTheCongestionControlOfTheirFlow(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	limit(t, n, 20e6)
	other := setup("others", time.Minute, plan.Flow{Protocol: plan.Transfers, Size: 1e9})
	own := setup("own", time.Minute, plan.Flow{Protocol: plan.Transfers, Size: 1e9, Congestion: "reno"})
	s := prepare(t, []plan.FlowSetup{other, own}, machines(n), Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := begin(ctx, s)
	established(t, n.Client, FirstPort, 1)
	established(t, n.Client, FirstPort+1, 1)
	for port, want := range map[int]bool{FirstPort: false, FirstPort + 1: true} {
		out, err := n.Client.Run("ss", "-tinH", "dport", "=", strconv.Itoa(port))
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(out, " reno "); got != want {
			t.Errorf("reno on port %d: %v, want %v (%s)", port, got, want, out)
		}
	}
	cancel()
	<-done
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	own.Flow.Congestion = "compound"
	_, err := Prepare(t.Context(), []plan.FlowSetup{own}, machines(n), Options{Folder: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "flow own: this kernel has no congestion control compound") {
		t.Errorf("error for an unknown congestion control: %v", err)
	}
}

func TestWebFollowsFromItsSeed(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	flow := setup("surf", 30*time.Second,
		plan.Flow{Protocol: plan.Web, Size: 30e3, Interval: plan.Duration(20e6), Transfers: 15, Parallel: 2})
	sizes := func(seed uint64) (all []int64) {
		for _, tr := range mustRun(t, n, Options{Seed: seed}, flow)["surf"].Transfers {
			all = append(all, tr.Bytes)
		}
		return all
	}
	first := sizes(1)
	again := sizes(1)
	other := sizes(2)
	if len(first) != 30 || len(other) != 30 {
		t.Fatalf("%d and %d downloads, want 30", len(first), len(other))
	}
	same := 0
	mean := int64(0)
	for i := range first {
		if first[i] != again[i] {
			t.Errorf("download %d has %d bytes and with the same seed %d", i, first[i], again[i])
		}
		if first[i] == other[i] {
			same++
		}
		mean += first[i] / 30
	}
	if same > 2 {
		t.Errorf("%d downloads are the same with another seed", same)
	}
	between(t, "mean size", mean, 10e3, 60e3)
}

func TestPingIsAnswered(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	r := mustRun(
		t, n, Options{},
		setup("echo", 1500*time.Millisecond,
			plan.Flow{Protocol: plan.Ping, Interval: plan.Duration(100e6), Length: 200}),
	)["echo"]
	p := r.Pings
	if p == nil || p.Sent < 14 || p.Sent > 15 || p.Received != p.Sent || len(p.RTTs) != int(p.Received) {
		t.Fatalf("pings %+v, want 15 answered", p)
	}
	for i, rtt := range p.RTTs {
		if at := r.StartS + 0.1*float64(i); math.Abs(rtt.AtS-at) > 1e-6 || rtt.Ms <= 0 || rtt.Ms > 50 {
			t.Errorf("ping %d is %+v, want well below a second", i, rtt)
		}
	}
	if r.Port != 0 {
		t.Errorf("port of a ping: got %d, want 0", r.Port)
	}
}

func TestFlowsStartAndStopAtTheirTimes(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	limit(t, n, 50e6)
	var flows []plan.FlowSetup
	for i := range 4 {
		f := setup("staggered"+strconv.Itoa(i+1), 3*time.Second, plan.Flow{Protocol: plan.TCP})
		f.Start = plan.Duration(time.Duration(i) * 300 * time.Millisecond)
		flows = append(flows, f)
	}
	s := prepare(t, flows, machines(n), Options{})
	for i, r := range s.run(t.Context(), time.Now().Add(200*time.Millisecond)) {
		if r.Error != "" {
			t.Fatal(r.Error)
		}
		start := float64(i) * 0.3
		between(t, "start", r.StartS, start, start+0.299)
		between(t, "end", r.StopS, 3, 6)
		between(t, "duration", r.forward.duration.Seconds(), 1, 3.1-start)
	}
}

func TestIPv6(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	m := machine.Set{
		machine.NewNamespace("phone", n.Client.Name, n.Client.V6),
		machine.NewNamespace("server", n.Server.Name, n.Server.V6),
	}
	s := prepare(t, []plan.FlowSetup{
		setup("bulk", time.Second, plan.Flow{Protocol: plan.TCP}),
		setup("one", 20*time.Second, plan.Flow{Protocol: plan.Transfers, Size: 1e6, Transfers: 3}),
		setup("echo", time.Second, plan.Flow{Protocol: plan.Ping, Interval: plan.Duration(200e6), Length: 56}),
	}, m, Options{})
	for _, r := range s.Run(t.Context(), time.Now()) {
		if r.Error != "" {
			t.Errorf("%s: %s", r.Name, r.Error)
		}
	}
}

func TestFlowsThatCannotBePreparedAreNamed(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	tcp := setup("bulk", time.Second, plan.Flow{Protocol: plan.TCP})
	stranger := tcp
	stranger.To = "nobody"
	listener, at, err := n.Server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	elsewhere := machines(n)
	elsewhere[1] = machine.NewNamespace("server", n.Server.Name, netip.MustParseAddr("192.0.2.1"))
	gone := machines(n)
	gone[1] = machine.NewNamespace("server", "airtide-not-there", n.Server.V4)
	guest := machines(n)
	guest[1] = other{guest[1]}
	web := setup("surf", time.Second, plan.Flow{Protocol: plan.Web, Size: 30e3, Interval: 1e9})
	for _, c := range []struct {
		name     string
		flows    []plan.FlowSetup
		machines machine.Set
		port     uint16
		want     []string
	}{
		{"two of a name", []plan.FlowSetup{tcp, tcp}, machines(n), 0, []string{"two flows are named bulk"}},
		{"a machine that is not there", []plan.FlowSetup{stranger}, machines(n), 0, []string{"bulk", "nobody"}},
		{"a server in a guest", []plan.FlowSetup{tcp}, guest, 0, []string{"bulk", "cannot be a server"}},
		{
			"iperf3's port taken",
			[]plan.FlowSetup{tcp},
			machines(n), at.Port(),
			[]string{"iperf3 on server", "cannot have port", "another program"},
		},
		{
			"httpd's port taken",
			[]plan.FlowSetup{web},
			machines(n), at.Port(),
			[]string{"httpd on server", "cannot have port", "another program"},
		},
		{
			"an address that is another's",
			[]plan.FlowSetup{tcp},
			elsewhere, 0,
			[]string{"iperf3 on server (192.0.2.1)", "did not start"},
		},
		{"a namespace that is not there", []plan.FlowSetup{tcp}, gone, 0, []string{"airtide-not-there"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Prepare(t.Context(), c.flows, c.machines, Options{Folder: t.TempDir(), FirstPort: c.port})
			if err == nil {
				_ = s.Close()
				t.Fatal("no error")
			}
			for _, w := range c.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
			nothingLeft(t, n)
		})
	}
}

func TestAToolThatIsNotInstalledIsNamed(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	before := clients[plan.Ping]
	t.Cleanup(func() { clients[plan.Ping] = before })
	missing := before
	missing.Programs = []string{"airtide-no-such-ping"}
	clients[plan.Ping] = missing
	_, err := Prepare(context.Background(),
		[]plan.FlowSetup{setup("echo", time.Second, plan.Flow{Protocol: plan.Ping})}, machines(n),
		Options{Folder: t.TempDir()})
	if err == nil || !strings.Contains(err.Error(), "echo") ||
		!strings.Contains(err.Error(), "apt-get install iputils-ping") {
		t.Errorf("error is %v", err)
	}
}
