//go:build kernel

package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/test/need"
	"airtide/test/testnet"
)

// countedFlow is a flow of info --json.
type countedFlow struct {
	CongestionControl  string   `json:"congestion_control"`
	CongestionControls []string `json:"congestion_controls"`
	Acked              int64    `json:"acked_bytes"`
	Retransmissions    struct {
		Packets int64            `json:"packets"`
		Causes  map[string]int64 `json:"causes"`
	} `json:"retransmissions"`
}

// sender is the flow with the most acknowledged bytes.
func sender(t *testing.T, path string) (most countedFlow) {
	t.Helper()
	var r struct{ Flows []countedFlow }
	if err := json.Unmarshal([]byte(mustRun(t, "info", path, "--json")), &r); err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Flows {
		if f.Acked >= most.Acked {
			most = f
		}
	}
	return most
}

// The causes of retransmissions add up to their count with every congestion control, also if the
// recording ends in the middle of a transfer, behind the last sample.
func TestCausesAddUpUnderLoss(t *testing.T) {
	need.Root(t)
	for _, control := range []string{"cubic", "reno", "bbr"} {
		t.Run(control, func(t *testing.T) {
			known, err := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
			if err != nil || !slices.Contains(strings.Fields(string(known)), control) {
				t.Skipf("this kernel lacks %s: %v", control, err)
			}
			n := testnet.New(t, testnet.Options{Segments: true})
			_, path := recordWith(t, n, "handshake", func() {
				client, server := n.Connect(testnet.Dial{CongestionControl: control})
				n.Client.Out.DropEvery(23)
				testnet.MustSend(t, client, server, 1<<20)
				testnet.Stream(t, client, server) // until the end of the test
				n.Client.Out.Blackout(true)
				before := resent(t, client)
				testnet.Eventually(t, 10*time.Second, "retransmissions that nothing answers", func() bool {
					return resent(t, client) >= before+2
				})
			})
			f := sender(t, path)
			sum := int64(0)
			for _, c := range f.Retransmissions.Causes {
				sum += c
			}
			if f.CongestionControl != control || sum != f.Retransmissions.Packets || sum < 20 {
				t.Errorf("%+v: the causes add up to %d", f, sum)
			}
			if untold := f.Retransmissions.Causes["without_event"]; untold > sum/20 {
				t.Errorf("%d of %d retransmissions have no event", untold, sum)
			}
		})
	}
}

// resent is the kernel's count of retransmitted segments of a socket.
func resent(t *testing.T, conn *net.TCPConn) (packets uint32) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			packets = info.Total_retrans
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return packets
}

// A socket that chooses another congestion control while it sends has that one in every output.
func TestOutputsNameTheCongestionControlInUse(t *testing.T) {
	need.Root(t)
	n := testnet.New(t, testnet.Options{Segments: true})
	var client string
	_, path := recordWith(t, n, "handshake", func() {
		from, to := n.Connect(testnet.Dial{CongestionControl: "reno"})
		client = from.LocalAddr().String()
		testnet.MustSend(t, from, to, 100_000)
		chooseControl(t, from, "cubic")
		testnet.MustSend(t, from, to, 100_000)
	})
	f := sender(t, path)
	if f.CongestionControl != "cubic" || strings.Join(f.CongestionControls, ">") != "reno>cubic" {
		t.Errorf("info: %q of %q", f.CongestionControl, f.CongestionControls)
	}
	dir := t.TempDir()
	for _, format := range []string{"csv", "jsonl", "perfetto"} {
		out := filepath.Join(dir, "out."+format)
		mustRun(t, "export", path, "--to", format, "-o", out)
		if format == "csv" {
			out = filepath.Join(dir, "out.flows.csv")
		}
		text, err := os.ReadFile(out)
		if err != nil || !strings.Contains(string(text), "cubic") {
			t.Errorf("%s lacks the congestion control in use: %v", filepath.Base(out), err)
		}
		if format != "csv" {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if local := strings.Split(line, ",")[1]; local == client && !strings.Contains(line, ",cubic,") {
				t.Errorf("the table of flows names the first congestion control: %s", line)
			}
		}
	}
}

func chooseControl(t *testing.T, conn *net.TCPConn, name string) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var set error
	err = raw.Control(func(fd uintptr) {
		set = unix.SetsockoptString(int(fd), unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
	})
	if err != nil || set != nil {
		t.Fatal(err, set)
	}
}
