package statusfeed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"airtide/internal/share"
	"airtide/internal/share/cellkey"
	"airtide/internal/share/control"
	"airtide/test/testnet"
)

func ownFolder(t *testing.T) {
	before := folder
	folder = t.TempDir()
	t.Cleanup(func() { folder = before })
}

func example() share.Status {
	return share.Status{
		Time: time.Now(), PID: 1, Policy: "shares", Cell: "978b8745", Bounded: true, ShareBps: 107.2e6,
		TotalBps: 238.1e6, Limit: "airtime",
		WireBps: 900e6, QueueTargetUs: 8100, Correction: 1.02,
		Own: share.Terminal{
			State: "controlling", StandaloneBps: 505e6, StandaloneSource: "configured",
			RateBps: 109e6, UploadBps: 107e6,
			DownloadBps: 2e6, MinRTTUs: 1200, RTTUs: 20100, BoundBps: 107.2e6, PHYBps: 866.7e6,
		},
		Peers: []share.Terminal{{
			Address: "10.0.0.2", State: "observing", RateBps: 11e6, DemandBps: 12e6, RTT95Us: 31000,
			QueuedBytes: 9000, Retransmits: 17, Errors: [4]int64{5, 6, 7, 8},
		}},
		Windows: []share.Window{{
			Local: netip.MustParseAddrPort("10.0.0.1:40000"), Remote: netip.MustParseAddrPort("192.0.2.7:443"),
			Packets: 230,
		}, {
			Local: netip.MustParseAddrPort("10.0.0.1:40001"), Remote: netip.MustParseAddrPort("192.0.2.7:443"),
			ReceiveBytes: 65536,
		}},
		Probe:             "release",
		ForeignQueues:     true,
		ChannelBusy:       0.93,
		ForeignAirtime:    0.4,
		OtherAccessPoints: 3,
		Benefit: &share.Benefit{
			TotalWithBps: 238e6, TotalWithoutBps: 97e6, RTTWithUs: 30000, RTTWithoutUs: 636000, LowestRatio: 0.62,
			Helps: true,
		},
		Datagrams: map[string]int{"accepted": 1234, "wrong_key": 5},
	}
}

// serveSteps starts an agent's server and steps until the test ends.
func serveSteps(t *testing.T, status share.Status) *Server {
	t.Helper()
	tap := &Feed{}
	s, err := Serve(t.Context(), cellkey.New().Tag(), tap)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	go func() {
		steps := time.NewTicker(time.Millisecond)
		defer steps.Stop()
		for ctx.Err() == nil {
			tap.Publish(status)
			<-steps.C
		}
	}()
	return s
}

// listen is a socket in the place of an agent's, which says something else.
func listen(t *testing.T, name string, say func(net.Conn)) {
	t.Helper()
	l, err := net.Listen("unix", path(name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			say(conn)
		}
	}()
}

func TestAgentsWithOneProcessNumberAreDistinct(t *testing.T) {
	ownFolder(t)
	a := serveSteps(t, example())
	b := serveSteps(t, example())
	reports, failures, err := Ask(t.Context())
	if err != nil || len(failures) > 0 || len(reports) != 2 || a.name == b.name {
		t.Fatalf("asked: %v %v %v", reports, failures, err)
	}
	for _, r := range reports {
		if r.NetNS != a.netns || r.Own.RateBps != 109e6 || len(r.Peers) != 1 || r.Agent != a.name && r.Agent != b.name {
			t.Errorf("it says %+v", r)
		}
	}
	if err := errors.Join(a.Close(), b.Close()); err != nil {
		t.Error(err)
	}
	if _, _, err := Ask(t.Context()); !errors.Is(err, ErrNone) {
		t.Errorf("after their end: %v", err)
	}
}

func TestWithoutAnyAgent(t *testing.T) {
	ownFolder(t)
	folder += "/never made"
	if _, _, err := Ask(t.Context()); !errors.Is(err, ErrNone) {
		t.Errorf("got %v", err)
	}
}

func TestSocketsOfKilledAgentsAreRemoved(t *testing.T) {
	ownFolder(t)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path("killed"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false) // kill -9 leaves the socket
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Ask(t.Context()); !errors.Is(err, ErrNone) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(path("killed")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is still there: %v", err)
	}
}

func TestInvalidAnswersAreReported(t *testing.T) {
	text, err := json.Marshal(Report{"right", 1, example()})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		answer, says string
	}{
		"half": {string(text[:len(text)/2]), "no status"}, "empty": {"", "does not answer"},
		"other":  {`["a"]`, "no status"},
		"nobody": {"{}", "no status"}, "impostor": {string(text), "no status"},
		"rubbish": {"\x00\xff\x1b[2J", "no status"},
	} {
		t.Run(name, func(t *testing.T) {
			ownFolder(t)
			good := serveSteps(t, example())
			listen(t, name, func(conn net.Conn) {
				_, _ = conn.Write([]byte(c.answer))
				_ = conn.Close()
			})
			reports, failures, err := Ask(t.Context())
			if err != nil || len(reports) != 1 || reports[0].Agent != good.name {
				t.Errorf("of the other agent: %v, %v", reports, err)
			}
			if len(failures) != 1 || failures[0].Agent != name || !strings.Contains(failures[0].Error(), c.says) {
				t.Errorf("of this one: %v", failures)
			}
		})
	}
}

func TestAStalledAgentIsNotAwaited(t *testing.T) {
	ownFolder(t)
	held := make(chan net.Conn, 10)
	listen(t, "still", func(conn net.Conn) { held <- conn })
	_, failures, err := Ask(t.Context())
	if err != nil || len(failures) != 1 || !errors.Is(failures[0], errSilent) {
		t.Errorf("got %v, %v", failures, err)
	}
	_ = (<-held).Close()
	// Nor is one whose steps have ended.
	s, err := Serve(t.Context(), cellkey.New().Tag(), &Feed{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, failures, err := Ask(t.Context()); err != nil || len(failures) != 2 {
		t.Errorf("got %v, %v", failures, err)
	}
}

func TestACancelledReaderIsNotCalled(t *testing.T) {
	tap := &Feed{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	called := false
	if err := tap.Next(ctx, func(share.Status) { called = true }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	tap.Publish(example())
	if called {
		t.Error("it was called all the same")
	}
}

func TestTable(t *testing.T) {
	r := Report{"1-978b8745-00000001", 1, example()}
	var b bytes.Buffer
	if err := r.Table(&b, 0, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"cell 978b8745", "share 107.2 of 238.1", "limited by airtime", "wire carries 900.0", "queue target 8.1 ms",
		"this one  controlling",
		"10.0.0.2  observing", "10.0.0.1:40000  192.0.2.7:443", "230 packets", "65536 bytes",
		"866.7   505.0  configured   107.2   107.0     2.0",
		"17        5       6        7        8\n",
		"lowest rate of a terminal with bounds: 0.62",
		"with bounds 238.0 Mbit/s in all at an RTT of 30.0 ms, without 97.0 at 636.0: bounds help",
		"running probe: release",
		"terminals at other access points, which do not count: 3", "accepted 1234 wrong_key 5",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, b.String())
		}
	}
	r.Bounded = false
	r.Reason = "no other terminal is heard"
	b.Reset()
	const want = "windows are not bounded: no other terminal is heard"
	if err := r.Table(&b, 0, false); err != nil || !strings.Contains(b.String(), want) {
		t.Errorf("%v:\n%s", err, b.String())
	}
}

// Bounds without a standalone rate are those of the queue, or those of a policy that needs none.
func TestTableWithoutAStandaloneRate(t *testing.T) {
	for policy, want := range map[control.Policy]string{
		control.Shares:         "windows are bounded: standalone rate unknown, shares its queue only\n",
		control.EqualCapPolicy: "windows are bounded: share 50.0 of 100.0 Mbit/s in all\n",
	} {
		s := share.Status{Policy: policy, Bounded: true}
		if policy == control.EqualCapPolicy {
			s.ShareBps = 50e6
			s.TotalBps = 100e6
			s.Correction = 1
		}
		r := Report{"1-978b8745-00000001", 1, s}
		var b bytes.Buffer
		if err := r.Table(&b, 0, false); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), want) || strings.Contains(b.String(), "queue target") {
			t.Errorf("%s lacks %q, or has a queue target:\n%s", policy, want, b.String())
		}
	}
}

func TestTableFitsTheWidth(t *testing.T) {
	r := Report{"1-978b8745-00000001", 1, example()}
	r.Peers[0].Address = "2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff"
	for width := 30; width < 220; width++ {
		var b bytes.Buffer
		if err := r.Table(&b, width, false); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Fatalf("a line of %d columns at width %d:\n%s", n, width, b.String())
			}
		}
		for _, want := range []string{"terminal", "share", "107.2", "window at most"} {
			if !strings.Contains(b.String(), want) {
				t.Fatalf("width %d lacks %q:\n%s", width, want, b.String())
			}
		}
	}
}

func TestFieldNamesOfTheJSONStay(t *testing.T) {
	text, err := json.Marshal(Report{"a", 1, example()})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"agent", "network_namespace", "time", "pid", "policy", "cell", "bounded", "own", "peers", "address", "state",
		"standalone_bps", "rate_bps",
		"demand_bps", "min_rtt_us", "rtt_us", "share_bps", "total_bps", "wire_bps", "limit", "queue_target_us",
		"correction", "windows",
		"local", "remote", "cwnd_max_packets", "rwnd_max_bytes", "datagrams", "standalone_source", "upload_bps",
		"download_bps",
		"probe", "benefit", "total_with_bps", "total_without_bps", "rtt_with_us", "rtt_without_us", "helps",
		"foreign_queues", "channel_busy", "foreign_airtime", "other_access_points", "bound_bps", "phy_bps",
		"rtt_p95_us", "queued_bytes", "retransmits", "errors_by_code", "lowest_ratio",
	} {
		if !bytes.Contains(text, []byte(`"`+name+`":`)) {
			t.Errorf("the JSON has no field %s: %s", name, text)
		}
	}
}

// An agent answers from the beginning: it is starting until it publishes its first status.
func TestAnAgentThatStartsSaysSo(t *testing.T) {
	ownFolder(t)
	key := cellkey.New()
	starting := share.Starting(&share.Config{Key: key, Policy: "shares"})
	tap := &Feed{Starting: &starting}
	s, err := Serve(t.Context(), key.Tag(), tap)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ask := func() *Report {
		t.Helper()
		reports, silent, err := Ask(t.Context())
		if err != nil || len(reports) != 1 || len(silent) > 0 {
			t.Fatalf("%d agents, silent %v: %v", len(reports), silent, err)
		}
		return reports[0]
	}
	var b bytes.Buffer
	const want = "windows are not bounded: starting\n"
	if err := ask().Table(&b, 0, false); err != nil || !strings.Contains(b.String(), want) {
		t.Errorf("the status at the start: %s, %v", b.String(), err)
	}
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(10 * time.Millisecond):
				tap.Publish(example())
			}
		}
	}()
	testnet.Eventually(t, time.Minute, "the agent to have started",
		func() bool { return ask().Reason != "starting" })
}

// A flow that cannot be bounded is named, with its reason.
func TestFlowsThatAreNotBoundedAreNamed(t *testing.T) {
	r := Report{Status: example()}
	r.Unbound = []share.UnboundFlow{{
		Local: netip.MustParseAddrPort("10.0.0.1:5000"), Remote: netip.MustParseAddrPort("192.0.2.7:443"),
		Reason: "its socket is not found",
	}}
	var b bytes.Buffer
	const want = "not bounded: the flow from 10.0.0.1:5000 to 192.0.2.7:443: its socket is not found\n"
	if err := r.Table(&b, 0, false); err != nil || !strings.Contains(b.String(), want) {
		t.Errorf("the status: %s, %v", b.String(), err)
	}
}
