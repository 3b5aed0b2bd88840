//go:build kernel && tools

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	view "airtide/internal/view/capture"
	"airtide/test/need"
	"airtide/test/testnet"
)

// A capture at the sender shows as many segments sent again as the kernel counts, those included
// that tshark calls out of order.
func TestSendersCaptureCountsRetransmissionsAsTheKernel(t *testing.T) {
	need.Root(t)
	const held = "02:61:69:72:74:69" // the source of packets that were held
	n := testnet.New(t, testnet.Options{Segments: true})
	n.Client.Out.Delay(15 * time.Millisecond)
	n.Server.Out.Delay(15 * time.Millisecond)
	n.Client.Out.DropEvery(40)
	dir := t.TempDir()
	recording := filepath.Join(dir, "client.atr")
	endRecording := startRecording(t, recording, "--source", "bpf", "--netns", n.Client.Name)
	waitFor(t, "the recording to begin", func() bool {
		st, err := os.Stat(recording)
		return err == nil && st.Size() > 0
	})
	path := filepath.Join(dir, "client.pcap")
	// A held packet is captured when it is sent first, and an answer when it arrives.
	filter := fmt.Sprintf(
		"tcp and ((src host %s and not ether src %s) or (ether src %[2]s and not src host %[1]s))", n.Client.V4, held)
	endCapture := startCapture(t, n.Client, path, filter)
	transferBytes(t, n, 1448*1500, false)
	waitForEnds(t, path, 1)
	endCapture()
	endRecording()
	var all view.Joined
	if err := json.Unmarshal([]byte(mustRun(t, "packets", "join", path, recording, "--json")), &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Joined) != 1 || !all.Joined[0].AtSender || all.Joined[0].RecordedRetransmissions < 10 ||
		all.Joined[0].CapturedRetransmissions != all.Joined[0].RecordedRetransmissions {
		t.Fatalf("%d ends: %d captured, %d recorded", len(all.Joined), all.Joined[0].CapturedRetransmissions,
			all.Joined[0].RecordedRetransmissions)
	}
	text := mustRun(t, "packets", path)
	want := fmt.Sprintf("captured at the client; %d of ", all.Joined[0].RecordedRetransmissions)
	if !strings.Contains(text, want) || !strings.Contains(text, "segments sent again (") {
		t.Errorf("lacks %q:\n%s", want, text)
	}
}
