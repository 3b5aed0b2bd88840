//go:build kernel

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/diagnose"
	"airtide/test/need"
	"airtide/test/testnet"
)

// recordedEvent is an event of an export.
type recordedEvent struct {
	Type, Kind, Text string
	Flow             int
	Seq              *int64 `json:"seq_bytes"`
	EndSeq           *int64 `json:"end_seq_bytes"`
	FromState        string `json:"from_state"`
	Value            int64
	PeerTimestamp    *int64 `json:"peer_timestamp"`
	EchoedTimestamp  *int64 `json:"echoed_timestamp"`
	WriterBlocked    *int64 `json:"writer_blocked"`
	DeviceThrottled  *int64 `json:"device_throttled"`
	DeviceWait       *int64 `json:"device_wait_us"`
	State            *int64 `json:"state"`
	Acked            *int64 `json:"acked_bytes"`
	SYNACKAgain      int64  `json:"synack_again"`
	SYNACKDone       int64  `json:"synack_again_done"`
	IPBytes          int64  `json:"ip_bytes"`
	UDP443Bytes      int64  `json:"udp_443_bytes"`
}

// recordWith records a network with parts on demand while f runs, and returns what an export has,
// and the recording's path.
func recordWith(t *testing.T, n *testnet.Network, parts string, f func()) ([]recordedEvent, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "with.atr")
	netns := fmt.Sprintf("%d,%d", n.Client.NetNS, n.Server.NetNS)
	cmd := airtide("record", "-o", path, "--netns", netns, "--with", parts)
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	// The file comes when the source is attached. The walk over sockets is behind it.
	testnet.Eventually(t, 20*time.Second, "the recording to begin", func() bool {
		s, err := os.Stat(path)
		return err == nil && s.Size() > 0
	})
	f()
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("record: %v\n%s", err, errOut.String())
	}
	var all []recordedEvent
	lines := json.NewDecoder(strings.NewReader(mustRun(t, "export", path, "--to", "jsonl", "-o", "-")))
	for lines.More() {
		var e recordedEvent
		if err := lines.Decode(&e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all, path
}

// Segments are lost at a known place of this host. Each retransmission is joined with the drop of
// the same bytes, at the end that sent them.
func TestDropsOfThisHostAreJoinedWithRetransmissions(t *testing.T) {
	need.Root(t)
	const lost = 5
	for _, c := range []struct {
		name, place string
		lose        func(n *testnet.Network)
		prepare     func(n *testnet.Network) error
	}{
		{
			"at the receiver's ingress", "tc_ingress at eth0",
			func(n *testnet.Network) { n.Client.Out.DropData(20, lost) }, nil,
		},
		{
			"in the own qdisc", "qdisc_drop at eth0", nil,
			func(n *testnet.Network) error { return n.Client.Rate(20e6, 30_000) },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := testnet.New(t, testnet.Options{Segments: true})
			if c.prepare != nil {
				if err := c.prepare(n); err != nil {
					t.Fatal(err)
				}
			}
			records, path := recordWith(t, n, "drops", func() {
				client, server := n.Connect(testnet.Dial{CongestionControl: "cubic"})
				if c.lose != nil {
					c.lose(n)
				}
				testnet.MustSend(t, client, server, 1<<20)
			})
			sent := 0
			for _, e := range records {
				if e.Kind == "drop" && e.Text == c.place && e.FromState == "sent" && *e.EndSeq > *e.Seq {
					sent++
				} else if e.Kind == "drop" && e.Text != c.place {
					t.Errorf("a drop at %q", e.Text)
				}
			}
			if c.lose != nil && sent != lost || sent == 0 {
				t.Errorf("%d drops of sent packets at %s", sent, c.place)
			}
			var r struct {
				Totals struct {
					Retransmissions struct {
						Packets int64
						Losses  struct {
							Here []struct {
								Place   string
								Packets int64
							}
							Beyond int64 `json:"beyond_packets"`
						}
					}
				}
			}
			if err := json.Unmarshal([]byte(mustRun(t, "info", "--json", path)), &r); err != nil {
				t.Fatal(err)
			}
			again := r.Totals.Retransmissions
			here := again.Losses.Here
			// Each dropped packet is sent again. A timer may send others, too.
			if len(here) != 1 || here[0].Place != c.place || here[0].Packets < int64(sent) {
				t.Errorf("of %d drops and %d retransmissions: %+v", sent, again.Packets, again.Losses)
			}
			want := "lost here, " + c.place
			for _, verb := range []string{"info", "diagnose"} {
				if text := mustRun(t, verb, path); !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
					t.Errorf("%s does not say %q:\n%s", verb, want, text)
				}
			}
			want = `"losses":{"here":[{"place":"` + c.place + `","packets":`
			if text := mustRun(t, "monitor", "--json", path); !strings.Contains(text, want) {
				t.Errorf("monitor --json does not say %s", want)
			}
		})
	}
}

// Packets that vanish without a drop of the kernel are lost beyond this host.
func TestLossesBeyondThisHostAreNotItsDrops(t *testing.T) {
	need.Root(t)
	n := testnet.New(t, testnet.Options{Segments: true})
	_, path := recordWith(t, n, "drops", func() {
		client, server := n.Connect(testnet.Dial{})
		n.Client.Out.Vanish()
		n.Client.Out.DropData(20, 3)
		testnet.MustSend(t, client, server, 1<<20)
	})
	text := strings.Join(strings.Fields(mustRun(t, "info", path)), " ")
	if strings.Contains(text, "lost here") ||
		!strings.Contains(text, "lost beyond this host, or sent again without need: 3 packets") {
		t.Errorf("info:\n%s", text)
	}
}

// A SYN-ACK is lost once, so the handshake takes a second longer. Another handshake never ends.
func TestHandshakesAreTimed(t *testing.T) {
	need.Root(t)
	n := testnet.New(t, testnet.Options{Segments: true})
	records, path := recordWith(t, n, "handshake", func() {
		n.Connect(testnet.Dial{})
		n.Server.Out.Blackout(true)
		abandonHandshake(t, n)
		before := n.Server.Out.Counts().Dropped
		done := make(chan bool)
		go func() {
			defer close(done)
			n.Connect(testnet.Dial{})
		}()
		testnet.Eventually(t, 20*time.Second, "a SYN-ACK to be lost", func() bool {
			return n.Server.Out.Counts().Dropped > before
		})
		n.Server.Out.Blackout(false)
		<-done
	})
	var quick, slow []string
	var last recordedEvent
	for _, e := range records {
		if e.Type == "lost" {
			last = e
		}
		if e.Kind != "handshake" {
			continue
		}
		if e.Value < 500_000 {
			quick = append(quick, e.FromState)
		} else {
			slow = append(slow, e.FromState)
		}
	}
	if len(quick) != 2 || len(slow) != 2 {
		t.Errorf("quick handshakes %q, slow ones %q, want two of each", quick, slow)
	}
	if last.SYNACKAgain != 2 || last.SYNACKDone != 1 {
		t.Errorf("%d handshakes had their SYN-ACK sent again, %d of them opened", last.SYNACKAgain, last.SYNACKDone)
	}
	if text := mustRun(t, "info", path); !strings.Contains(text,
		"handshakes     the SYN-ACK was sent again for 2 handshakes, of which 1 opened\n") {
		t.Errorf("info does not tell of the handshake that did not end: %s", text)
	}
}

// abandonHandshake sends a SYN to a listener, whose SYN-ACKs are lost, and closes the socket when
// one was sent again.
func abandonHandshake(t *testing.T, n *testnet.Network) {
	t.Helper()
	var l net.Listener
	err := n.Server.Do(func() (err error) {
		l, err = net.ListenTCP("tcp4", &net.TCPAddr{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var fd int
	err = n.Client.Do(func() (err error) {
		fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	to := &unix.SockaddrInet4{Port: l.Addr().(*net.TCPAddr).Port, Addr: n.Server.V4.As4()}
	if err := unix.Connect(fd, to); err != unix.EINPROGRESS {
		t.Fatal(err)
	}
	testnet.Eventually(t, 20*time.Second, "two SYN-ACKs to be lost", func() bool {
		return n.Server.Out.Counts().Dropped > 1
	})
	if err := unix.Close(fd); err != nil {
		t.Fatal(err)
	}
}

// Segments that are joined before TCP sees them, or were never split, are as many as the kernel
// counts.
func TestMergedSegmentsAreCounted(t *testing.T) {
	need.Root(t)
	n := testnet.New(t, testnet.Options{})
	var came int64
	_, path := recordWith(t, n, "merges", func() {
		client, server := n.Connect(testnet.Dial{})
		testnet.MustSend(t, client, server, 1<<20)
		came = int64(testnet.Info(t, server).Segs_in)
	})
	var r struct {
		Flows []struct {
			ReceivedBytes int64 `json:"received_bytes"`
			Merged        struct{ Segments, Samples int64 }
		}
	}
	if err := json.Unmarshal([]byte(mustRun(t, "info", "--json", path)), &r); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, f := range r.Flows {
		if f.ReceivedBytes < 1<<20 {
			continue
		}
		found = true
		// The ACK of the handshake and the FIN make no samples of a segment.
		if m := f.Merged; m.Segments < came-2 || m.Segments > came+2 || m.Samples > m.Segments/2 {
			t.Errorf("%d segments in %d samples, the kernel counts %d", m.Segments, m.Samples, came)
		}
	}
	if text := mustRun(t, "info", path); !found || !strings.Contains(text, "\nmerged         ") {
		t.Errorf("info does not tell of merged segments: %s", text)
	}
}

// A slow queue of this host: packets wait for the device, and the writer waits for the buffer.
// Timestamps come with each segment.
func TestWaitsAndTimestampsAreRecorded(t *testing.T) {
	need.Root(t)
	for _, slow := range []bool{false, true} {
		n := testnet.New(t, testnet.Options{Segments: true})
		if slow {
			if err := n.Client.Rate(10e6, 1_000_000); err != nil {
				t.Fatal(err)
			}
		}
		records, path := recordWith(t, n, "waits,timestamps", func() {
			client, server := n.Connect(testnet.Dial{})
			testnet.SetOption(t, client, unix.SOL_SOCKET, unix.SO_SNDBUF, 200_000)
			testnet.MustSend(t, client, server, 1<<20)
		})
		var samples, timed, blocked, waited int
		for _, e := range records {
			if e.Type != "sample" || e.WriterBlocked == nil {
				continue
			}
			samples++
			if e.PeerTimestamp != nil && e.EchoedTimestamp != nil {
				timed++
			}
			blocked += int(*e.WriterBlocked)
			if e.DeviceWait != nil && *e.DeviceWait > 20_000 {
				waited++
			}
		}
		if samples == 0 || timed < samples-20 || slow != (waited > 10) || slow && blocked < 10 {
			t.Errorf("slow %t: %d samples, %d with timestamps, %d with a waiting writer, %d with a wait above 20 ms",
				slow, samples, timed, blocked, waited)
		}
		senders := 0
		for _, c := range diagnosed(t, path) {
			if c.Direction != "sends" {
				continue
			}
			senders++
			if w := c.Waits; w == nil || slow && (w.Writer < 0.5 || w.DeviceUs < 20_000) {
				t.Errorf("slow %t: the diagnosis tells the waits %+v", slow, w)
			}
		}
		if senders != 1 {
			t.Errorf("slow %t: %d connections send", slow, senders)
		}
	}
}

// diagnosed are the connections that diagnose explains.
func diagnosed(t *testing.T, path string) []diagnose.Connection {
	t.Helper()
	var r struct {
		Files []struct{ Connections []diagnose.Connection }
	}
	if err := json.Unmarshal([]byte(mustRun(t, "diagnose", "--json", path)), &r); err != nil {
		t.Fatal(err)
	}
	return r.Files[0].Connections
}

// After the peer's FIN this end goes on sending: samples come from its writes.
func TestHalfClosedConnectionsHaveSamples(t *testing.T) {
	need.Root(t)
	for _, parts := range []string{"half-closed", "handshake"} {
		n := testnet.New(t, testnet.Options{})
		records, _ := recordWith(t, n, parts, func() {
			client, server := n.Connect(testnet.Dial{})
			if err := server.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			for range 50 {
				testnet.MustSend(t, client, server, 10_000)
			}
		})
		var moved int64
		for _, e := range records {
			const closeWait = 8
			if e.Type == "sample" && e.State != nil && *e.State == closeWait && e.Acked != nil {
				moved = max(moved, *e.Acked)
			}
		}
		if seen := moved > 100_000; seen != (parts == "half-closed") {
			t.Errorf("--with %s: samples in CLOSE-WAIT reach %d bytes", parts, moved)
		}
	}
}

// Bytes of UDP port 443 are counted beside all bytes.
func TestBytesOfUDPPort443AreCounted(t *testing.T) {
	need.Root(t)
	n := testnet.New(t, testnet.Options{})
	const packets, size = 200, 1000
	records, path := recordWith(t, n, "udp", func() {
		to := netip.AddrPortFrom(n.Server.V4, 443)
		if err := n.Client.Do(func() error { return sendDatagrams(to, packets, size) }); err != nil {
			t.Fatal(err)
		}
	})
	var last recordedEvent
	for _, e := range records {
		if e.Type == "lost" {
			last = e
		}
	}
	if last.UDP443Bytes < packets*size || last.IPBytes < last.UDP443Bytes {
		t.Errorf("%d bytes of UDP port 443 of %d bytes", last.UDP443Bytes, last.IPBytes)
	}
	if text := mustRun(t, "info", path); !strings.Contains(text, "not seen") {
		t.Errorf("info:\n%s", text)
	}
}

func sendDatagrams(to netip.AddrPort, packets, size int) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for range packets {
		address := &unix.SockaddrInet4{Port: int(to.Port()), Addr: to.Addr().As4()}
		// The receiver has no socket: an ICMP error of the datagram before is no fault.
		if err := unix.Sendto(fd, make([]byte, size), 0, address); err != nil && err != unix.ECONNREFUSED {
			return err
		}
	}
	return nil
}

// Parts on demand need BPF, and known names.
func TestWithNeedsBPF(t *testing.T) {
	for _, args := range [][]string{{"--with", "nothing"}, {"--with", "drops", "--source", "diag"}} {
		args = append([]string{"record", "-o", filepath.Join(t.TempDir(), "x.atr"), "-d", "1ms"}, args...)
		_, stderr, status := run(t, args...)
		if status == 0 || !strings.Contains(stderr, "--with") {
			t.Errorf("%q: status %d: %s", args, status, stderr)
		}
	}
}
