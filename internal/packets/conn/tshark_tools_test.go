//go:build tools

package conn_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"airtide/internal/packets/conn"
	"airtide/internal/packets/read"
	"airtide/test/capture"
	"airtide/test/need"
)

// madeConnections is the number of made-up connections; MADE_CONNECTIONS in the environment changes
// it, and MADE_SEED the seed.
const madeConnections = 200

// counted is the counts of a direction by their names.
type counted map[string]uint64

// countedNames are the counts that are compared.
var countedNames = []string{
	"packets", "wire bytes", "data bytes", "retransmissions", "fast", "spurious", "out of order", "gaps",
	"duplicate ACKs", "zero windows", "window full", "probes", "keep-alives", "keep-alive ACKs", "window updates",
	"resets", "MSS", "scale", "SACK", "timestamps",
}

// analysed is a connection with the counts of both directions, by the port of their sender.
type analysed struct {
	from        map[uint16]counted
	handshakeUs float64

	// Facts for the reasons, from tshark's fields.
	spoke   map[uint16]bool // ends that sent a segment without SYN
	reset   bool            // a RST
	unseen  bool            // an ACK of unseen data
	lateSYN bool            // a SYN behind other segments of its end
	alive   bool            // a segment behind a RST
	zero    bool            // a sequence number behind a segment is 0
}

func ourCounts(d *conn.Direction) counted {
	c := counted{
		"packets": d.Packets, "wire bytes": d.WireBytes, "data bytes": d.DataBytes,
		"retransmissions": d.AllRetransmissions(), "fast": d.Fast, "spurious": d.Spurious,
		"out of order": d.OutOfOrder, "gaps": d.Gaps, "duplicate ACKs": d.DupAcks, "zero windows": d.ZeroWindows,
		"window full": d.WindowFull, "probes": d.ZeroWindowProbes, "keep-alives": d.KeepAlives,
		"keep-alive ACKs": d.KeepAliveAcks, "window updates": d.WindowUpdates, "resets": d.Resets,
	}
	if o := d.Offer; o != nil {
		c["MSS"] = uint64(o.MSS)
		if o.Scale != nil {
			c["scale"] = uint64(*o.Scale) + 1
		}
		c.is("SACK", *o.SACK)
		c.is("timestamps", *o.Timestamps)
	}
	return c
}

func (c counted) is(name string, is bool) {
	if is {
		c[name] = 1
	}
}

// ourAnalysis gives the connections in the order of their first packets.
func ourAnalysis(t *testing.T, content []byte) (all []analysed) {
	t.Helper()
	r, err := read.New(bytes.NewReader(content), "made")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	connections, _, err := run(t, r, conn.Options{})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(connections, func(a, b *conn.Connection) int { return cmp.Compare(a.ID, b.ID) })
	for _, c := range connections {
		all = append(all, analysed{from: map[uint16]counted{
			c.Client.Port(): ourCounts(&c.FromClient), c.Server.Port(): ourCounts(&c.FromServer),
		}, handshakeUs: c.HandshakeUs})
	}
	return all
}

// tsharkFields are printed for each packet; those of tsharkFlags say yes by being there.
var (
	tsharkFields = []string{
		"tcp.stream", "tcp.srcport", "frame.len", "tcp.len", "tcp.flags.syn", "tcp.options.mss_val",
		"tcp.options.wscale.shift", "tcp.options.sack_perm", "tcp.options.timestamp.tsval", "tcp.analysis.initial_rtt",
		"tcp.flags.reset", "tcp.flags.fin", "tcp.seq_raw", "tcp.analysis.ack_lost_segment",
	}
	tsharkFlags = map[string]string{
		"retransmission": "retransmissions", "fast_retransmission": "fast", "spurious_retransmission": "spurious",
		"out_of_order": "out of order", "lost_segment": "gaps", "duplicate_ack": "duplicate ACKs",
		"zero_window": "zero windows", "window_full": "window full", "zero_window_probe": "probes",
		"keep_alive": "keep-alives", "keep_alive_ack": "keep-alive ACKs", "window_update": "window updates",
	}
)

// tsharkAnalysis gives the streams in their order.
func tsharkAnalysis(t *testing.T, path string) (all []analysed) {
	t.Helper()
	args := []string{"-n", "-r", path, "-T", "fields"}
	fields := slices.Clone(tsharkFields)
	for flag := range tsharkFlags {
		fields = append(fields, "tcp.analysis."+flag)
	}
	for _, field := range fields {
		args = append(args, "-e", field)
	}
	text, err := exec.Command(need.Tool(t, "tshark"), args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		values := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		packet := map[string]string{}
		for i, field := range fields {
			packet[field] = values[i]
		}
		stream, _ := strconv.Atoi(packet["tcp.stream"])
		for len(all) <= stream {
			all = append(all, analysed{from: map[uint16]counted{}, spoke: map[uint16]bool{}})
		}
		all[stream].takeTshark(packet)
	}
	return all
}

func number(text string) uint64 {
	n, _ := strconv.ParseUint(text, 0, 64)
	return n
}

// takeTshark takes a packet of tshark.
func (a *analysed) takeTshark(packet map[string]string) {
	port := uint16(number(packet["tcp.srcport"]))
	c := a.from[port]
	if c == nil {
		c = counted{}
		a.from[port] = c
	}
	c["packets"]++
	c["wire bytes"] += number(packet["frame.len"])
	c["data bytes"] += number(packet["tcp.len"])
	c["resets"] += number(packet["tcp.flags.reset"])
	if packet["tcp.flags.syn"] == "1" {
		c["MSS"] = number(packet["tcp.options.mss_val"])
		if shift := packet["tcp.options.wscale.shift"]; shift != "" {
			c["scale"] = min(14, number(shift)) + 1
		}
		c.is("SACK", packet["tcp.options.sack_perm"] != "")
		c.is("timestamps", packet["tcp.options.timestamp.tsval"] != "")
	}
	a.takeReasons(port, packet)
	for flag, name := range tsharkFlags {
		if packet["tcp.analysis."+flag] != "" {
			c[name]++
		}
	}
	if rtt := packet["tcp.analysis.initial_rtt"]; rtt != "" {
		seconds, _ := strconv.ParseFloat(rtt, 64)
		a.handshakeUs = seconds * 1e6
	}
}

// takeReasons takes what the reasons of differences need to know.
func (a *analysed) takeReasons(port uint16, packet map[string]string) {
	syn := packet["tcp.flags.syn"] == "1"
	reset := packet["tcp.flags.reset"] == "1"
	a.unseen = a.unseen || packet["tcp.analysis.ack_lost_segment"] != ""
	a.lateSYN = a.lateSYN || syn && a.spoke[port]
	a.alive = a.alive || a.reset && !reset
	a.spoke[port] = a.spoke[port] || !syn
	a.reset = a.reset || reset
	end := number(packet["tcp.seq_raw"]) + number(packet["tcp.len"]) + number(packet["tcp.flags.syn"]) +
		number(packet["tcp.flags.fin"])
	a.zero = a.zero || uint32(end) == 0
}

// reason is a difference from tshark that docs/guide/packets.md names.
type reason struct {
	name string
	// happens reports whether the reason exists in a connection of ours and of tshark.
	happens func(ours, theirs *analysed) bool
	counts  []string // counts that may differ
}

// Counts that may differ: the kinds of late packets, and all signs.
var (
	late  = []string{"retransmissions", "fast", "out of order"}
	signs = append([]string{
		"gaps", "duplicate ACKs", "window full", "probes", "keep-alives", "keep-alive ACKs", "window updates",
		"spurious",
	}, late...)
)

var reasons = []reason{
	{"the RTT is that of the three packets of the handshake", func(ours, theirs *analysed) bool {
		const apartUs = 1
		return max(ours.handshakeUs-theirs.handshakeUs, theirs.handshakeUs-ours.handshakeUs) > apartUs
	}, []string{"retransmissions", "out of order"}},
	{"an ACK of unseen data changes tshark's count of duplicate ACKs", func(_, theirs *analysed) bool {
		return theirs.unseen
	}, late},
	{"without the SYN-ACK, tshark takes the scale of the SYN", func(ours, _ *analysed) bool {
		return ours.handshakeUs == 0
	}, []string{"window full"}},
	{"a SYN captured behind other segments starts tshark's analysis anew", func(_, theirs *analysed) bool {
		return theirs.lateSYN
	}, signs},
	{"a RST moves tshark's sequence number and last ACK", func(_, theirs *analysed) bool {
		return theirs.alive
	}, signs},
	{"a sequence number 0 stands for none in tshark", func(_, theirs *analysed) bool { return theirs.zero }, signs},
}

// explains reports whether a reason explains all differences of a direction. If only the kind of
// late packets differs, their number is the same.
func (r *reason) explains(differ []string, mine, other counted, ours, theirs *analysed) bool {
	sameLate := mine["retransmissions"]+mine["out of order"] == other["retransmissions"]+other["out of order"]
	return only(differ, r.counts...) && (sameLate || len(r.counts) > len(late)) && r.happens(ours, theirs)
}

// only reports whether all differences are among some.
func only(differ []string, names ...string) bool {
	return !slices.ContainsFunc(differ, func(name string) bool { return !slices.Contains(names, name) })
}

// Tshark counts the same in connections that are made up, but for reasons that the guide names.
func TestMadeConnectionsCountAsInTshark(t *testing.T) {
	n := madeConnections
	seed := uint64(1)
	if text := os.Getenv("MADE_CONNECTIONS"); text != "" {
		n = int(number(text))
	}
	if text := os.Getenv("MADE_SEED"); text != "" {
		seed = number(text)
	}
	var made []madePacket
	for i := range n {
		made = append(made, madeConnection(seed, i)...)
	}
	slices.SortStableFunc(made, func(a, b madePacket) int { return cmp.Compare(a.atNs, b.atNs) })
	var packets []capture.Packet
	for _, p := range made {
		packets = append(packets, capture.Packet{TimeNs: p.atNs, Data: p.IP()})
	}
	content := capture.PCAP(binary.LittleEndian, true, 101, packets...)
	path := filepath.Join(t.TempDir(), "made.pcap")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if keep := os.Getenv("MADE_KEEP"); keep != "" {
		_ = os.WriteFile(keep, content, 0o600)
	}
	ours := ourAnalysis(t, content)
	theirs := tsharkAnalysis(t, path)
	if len(ours) != len(theirs) {
		t.Fatalf("%d connections, tshark finds %d", len(ours), len(theirs))
	}
	explained := map[string]int{}
	compared := 0
	seen := counted{}
	for i := range ours {
		for port, mine := range ours[i].from {
			other := theirs[i].from[port]
			var differ []string
			for _, name := range countedNames {
				compared++
				seen[name] += mine[name]
				if mine[name] != other[name] {
					differ = append(differ, name)
				}
			}
			explain(t, i, port, mine, other, differ, &ours[i], &theirs[i], explained)
		}
	}
	for _, name := range countedNames {
		if seen[name] == 0 {
			t.Errorf("no connection has any %s", name)
		}
	}
	t.Logf("%d packets, %d counts compared; explained: %v", len(packets), compared, explained)
}

// explain finds the reason of a difference, or fails.
func explain(
	t *testing.T, i int, port uint16, mine, other counted, differ []string, a, b *analysed, explained map[string]int,
) {
	t.Helper()
	if len(differ) == 0 {
		return
	}
	for _, r := range reasons {
		if r.explains(differ, mine, other, a, b) {
			explained[r.name] += len(differ)
			return
		}
	}
	text := ""
	for _, name := range differ {
		text += fmt.Sprintf(", %s %d (tshark %d)", name, mine[name], other[name])
	}
	t.Errorf("stream %d, port %d, handshake %g µs (tshark %g)%s", i, port, a.handshakeUs, b.handshakeUs, text)
}
