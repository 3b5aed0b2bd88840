//go:build tools

package decode_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"airtide/internal/packets/decode"
	"airtide/internal/packets/read"
	"airtide/test/capture"
	"airtide/test/need"
)

// Tshark finds the same segments in all stacks.
func TestTsharkDecodesTheSame(t *testing.T) {
	tshark := need.Tool(t, "tshark")
	r := rand.New(rand.NewPCG(7, 8))
	var content []byte
	var names []string
	var want []string
	for _, k := range stacks {
		if k.notTshark != "" {
			continue
		}
		var packets []capture.Packet
		for i := range 8 {
			data := k.wrap(randomSegment(r, i%2 == 1).IP())
			packets = append(packets, capture.Packet{TimeNs: int64(1e18) + int64(i), Data: data})
			var d decode.Decoder
			var s decode.Segment
			d.Decode(&read.Packet{Data: data, Length: len(data), Link: k.link}, &s)
			line := fmt.Sprintf("%d\t%d\t%d\t%d\t%d", s.Key.Port[s.From], s.Seq, s.Ack, s.Window, s.Payload)
			want = append(want, line)
			names = append(names, k.name)
		}
		content = append(content, capture.PCAPNG(binary.LittleEndian, uint16(k.link), 9, packets...)...)
	}
	path := filepath.Join(t.TempDir(), "stacks.pcapng")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command(tshark, "-n", "-r", path, "-T", "fields", "-e", "tcp.srcport", "-e", "tcp.seq_raw",
		"-e", "tcp.ack_raw", "-e", "tcp.window_size_value", "-e", "tcp.len").Output()
	got := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if err != nil || len(got) != len(want) || len(want) < 400 {
		t.Fatalf("%d of %d packets, %v", len(got), len(want), err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s: %q, tshark decodes %q", names[i], want[i], got[i])
		}
	}
}
