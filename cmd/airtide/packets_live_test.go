//go:build kernel && tools

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"airtide/internal/packets/conn"
	"airtide/internal/packets/join"
	"airtide/internal/packets/read"
	"airtide/internal/recording/trace"
	view "airtide/internal/view/capture"
	"airtide/test/need"
	"airtide/test/testnet"
)

// startCapture captures the headers of packets at a host until its end function is called.
func startCapture(t *testing.T, h *testnet.Host, path, filter string) (end func()) {
	t.Helper()
	cmd := exec.Command(need.Tool(t, "tcpdump"),
		"-i", "eth0", "-s", "160", "-U", "--immediate-mode", "-B", "16384", "-Z", "root", "-w", path, filter)
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(cmd); err != nil {
		t.Fatal(err)
	}
	killAfterFailure(t, cmd)
	var all bytes.Buffer
	for part := make([]byte, 512); !strings.Contains(all.String(), "listening on"); {
		n, err := said.Read(part)
		all.Write(part[:n])
		if err != nil {
			t.Fatalf("tcpdump: %v: %s", err, &all)
		}
	}
	return func() {
		t.Helper()
		_ = cmd.Process.Signal(os.Interrupt)
		_, _ = all.ReadFrom(said)
		if err := cmd.Wait(); err != nil {
			t.Fatalf("tcpdump: %v: %s", err, &all)
		}
	}
}

// waitForEnds waits until a capture holds the ends of all connections.
func waitForEnds(t *testing.T, path string, connections int) {
	t.Helper()
	waitFor(t, "the last packets in "+filepath.Base(path), func() bool {
		text, _, _ := run(t, "packets", path, "--json")
		return strings.Count(text, `"end": "fin"`) == connections
	})
}

// ends counts what each end of each connection sent.
type ends map[string]*counts

type counts struct {
	Packets, DataPackets, DataBytes, Repeated, Fast, Spurious, OutOfOrder, Gaps, DupAcks, Zero, Full uint64
}

// countedByAirtide names the ends by the number of their connection and their port.
func countedByAirtide(t *testing.T, path string) (all ends) {
	t.Helper()
	var report view.Analysis
	if err := json.Unmarshal([]byte(mustRun(t, "packets", path, "--json")), &report); err != nil {
		t.Fatal(err)
	}
	all = ends{}
	for _, c := range report.Connections {
		for port, d := range map[uint16]*conn.Direction{
			c.Client.Port(): &c.FromClient, c.Server.Port(): &c.FromServer,
		} {
			all[fmt.Sprintf("%d from %d", c.ID, port)] = &counts{
				d.Packets, d.DataPackets, d.DataBytes, d.AllRetransmissions(), d.Fast, d.Spurious, d.OutOfOrder,
				d.Gaps, d.DupAcks, d.ZeroWindows, d.WindowFull,
			}
		}
	}
	return all
}

// countedByTshark takes the flags of each packet.
func countedByTshark(t *testing.T, path string) (all ends) {
	t.Helper()
	args := []string{
		"-n", "-r", path, "-Y", "tcp", "-T", "fields", "-e", "tcp.stream", "-e", "tcp.srcport", "-e", "tcp.len",
	}
	for _, flag := range []string{
		"retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order", "lost_segment",
		"duplicate_ack", "zero_window", "window_full",
	} {
		args = append(args, "-e", "tcp.analysis."+flag)
	}
	text, err := exec.Command(need.Tool(t, "tshark"), args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	all = ends{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		var stream, port, length uint64
		if len(fields) != 11 {
			t.Fatalf("tshark prints %q", line)
		}
		if _, err := fmt.Sscan(strings.Join(fields[:3], " "), &stream, &port, &length); err != nil {
			t.Fatalf("tshark prints %q: %v", line, err)
		}
		name := fmt.Sprintf("%d from %d", stream+1, port)
		c := all[name]
		if c == nil {
			c = &counts{}
			all[name] = c
		}
		c.Packets++
		c.DataBytes += length
		if length > 0 {
			c.DataPackets++
		}
		for i, n := range []*uint64{
			&c.Repeated, &c.Fast, &c.Spurious, &c.OutOfOrder, &c.Gaps, &c.DupAcks, &c.Zero, &c.Full,
		} {
			if fields[3+i] != "" {
				*n++
			}
		}
	}
	return all
}

// transferBytes sends bytes over a connection, and closes it when all have arrived.
func transferBytes(t *testing.T, n *testnet.Network, bytes int64, down bool) {
	t.Helper()
	client, server := n.Connect(testnet.Dial{CongestionControl: "cubic"})
	from := client
	to := server
	if down {
		from = server
		to = client
	}
	testnet.MustSend(t, from, to, bytes)
	for _, c := range []*net.TCPConn{from, to} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Real transfers with losses, captured at both ends, one with offloads: airtide counts what tshark
// counts.
func TestCountsOfRealTransfersEqualThoseOfTshark(t *testing.T) {
	need.Root(t)
	n := testnet.New(t, testnet.Options{})
	ethtool := need.Tool(t, "ethtool")
	if _, err := n.Server.Run(ethtool, "-K", "eth0", "tso", "off", "gso", "off", "gro", "off"); err != nil {
		t.Fatal(err)
	}
	if err := n.Client.Rate(60e6, 60_000); err != nil {
		t.Fatal(err)
	}
	n.Client.Out.DropEvery(90)
	n.Server.Out.DropEvery(70)
	dir := t.TempDir()
	paths := map[*testnet.Host]string{
		n.Client: filepath.Join(dir, "client.pcap"), n.Server: filepath.Join(dir, "server.pcap"),
	}
	var stop []func()
	for host, path := range paths {
		stop = append(stop, startCapture(t, host, path, "tcp"))
	}
	for range 2 {
		transferBytes(t, n, 2e6, false)
		transferBytes(t, n, 2e6, true)
	}
	for _, path := range paths {
		waitForEnds(t, path, 4)
	}
	for _, end := range stop {
		end()
	}
	for host, path := range paths {
		ours := countedByAirtide(t, path)
		theirs := countedByTshark(t, path)
		repeated := uint64(0)
		duplicate := uint64(0)
		for name, c := range theirs {
			repeated += c.Repeated
			duplicate += c.DupAcks
			if ours[name] == nil || *ours[name] != *c {
				t.Errorf("%s, connection %s: %+v, tshark counts %+v", host.Name, name, ours[name], *c)
			}
		}
		if len(ours) != len(theirs) || len(ours) != 8 || repeated == 0 || duplicate == 0 {
			t.Errorf("%s: %d ends, tshark counts %d, with %d retransmissions and %d duplicate ACKs",
				host.Name, len(ours), len(theirs), repeated, duplicate)
		}
	}
}

// offset is the result of a join for a connection.
type offset struct {
	near                   string
	offsetNs, senderOffset time.Duration
}

// offsets joins a capture with a recording of the client.
func offsets(t *testing.T, path, recording string, n *testnet.Network) (all []offset) {
	t.Helper()
	r, err := trace.Open(recording)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m := r.Metadata()
	flows := &join.Recording{WallNs: m.WallNs}
	if err := r.Scan(t.Context(), trace.ScanOptions{Fields: join.Fields()}, flows); err != nil {
		t.Fatal(err)
	}
	var joined []*join.Connection
	j := &join.Joiner{Recording: flows, Joined: func(x *join.Connection) error {
		if x.AlignedBy == "acks" && x.Local.Addr() == n.Client.V4 {
			joined = append(joined, x)
		}
		return nil
	}}
	near := map[uint64]string{}
	c, err := read.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := conn.Run(t.Context(), c, conn.Options{Observer: j, Done: func(c *conn.Connection) error {
		near[c.ID] = c.Near
		return j.Done(c)
	}}); err != nil {
		t.Fatal(err)
	}
	for _, x := range joined {
		all = append(all, offset{near[x.Connection], time.Duration(x.OffsetNs), time.Duration(x.SenderOffsetNs())})
	}
	return all
}

// All clocks of this machine are one, so offsets are zero: at the client, and at the server without
// the way of the ACKs. A busy machine makes ways longer, so one connection of five suffices.
func TestOffsetsOfCapturesAtBothEnds(t *testing.T) {
	need.Root(t)
	const (
		way  = 40 * time.Millisecond
		held = "02:61:69:72:74:69" // the source of packets that were held
	)
	n := testnet.New(t, testnet.Options{Segments: true})
	n.Client.Out.Delay(way)
	n.Server.Out.Delay(way)
	dir := t.TempDir()
	recording := filepath.Join(dir, "client.atr")
	endRecording := startRecording(t, recording, "--source", "bpf", "--netns", n.Client.Name)
	waitFor(t, "the recording to begin", func() bool {
		st, err := os.Stat(recording)
		return err == nil && st.Size() > 0
	})
	hosts := map[string]*testnet.Host{"client": n.Client, "server": n.Server}
	var stop []func()
	for name, host := range hosts {
		// Of a held packet, which is sent again, the receiver shall show the second copy alone.
		filter := fmt.Sprintf(
			"tcp and ((src host %s and not ether src %s) or (ether src %[2]s and not src host %[1]s))", host.V4, held)
		stop = append(stop, startCapture(t, host, filepath.Join(dir, name), filter))
	}
	for range 5 {
		transferBytes(t, n, 1448*200, false)
	}
	for name := range hosts {
		waitForEnds(t, filepath.Join(dir, name), 5)
	}
	for _, end := range append(stop, endRecording) {
		end()
	}
	for name := range hosts {
		least := time.Duration(0)
		exact := 0
		if name == "server" {
			least = way
		}
		all := offsets(t, filepath.Join(dir, name), recording, n)
		for _, o := range all {
			if o.near == name && o.offsetNs >= least && o.senderOffset.Abs() < way/2 {
				exact++
			}
		}
		if exact == 0 {
			t.Errorf("at the %s: %+v", name, all)
		}
	}
}
