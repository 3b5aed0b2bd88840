//go:build kernel

package diag

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/tcp"
	"airtide/test/need"
)

func TestWithoutRootSamplesComeAndOwnProcessesAreNamed(t *testing.T) {
	need.Root(t)
	client, server := connect(t, "tcp4", "127.0.0.1:0")
	transfer(t, client, server, 1<<20)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childEnv+"=unprivileged", fmt.Sprint("DIAG_TEST_PORT=", portOf(server.LocalAddr())))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if want := "65534 true 0 true true true true true"; err != nil || strings.TrimSpace(string(out)) != want {
		t.Errorf(
			"as nobody (user, own process named, foreign process, inode, cwnd, srtt, memory, all namespaces "+
				"refused):\n got %s (%v)\nwant %s",
			out, err, want,
		)
	}
}

// TestOutageGivesTimeouts stops the ACKs of a transfer: the sender times out and sends again.
func TestOutageGivesTimeouts(t *testing.T) {
	near, far := makePair(t)
	client, server := connectPair(t, near, far)
	r, _, _ := start(t, Options{Filter: filter.Filter{NetNS: []uint32{near.inode}}})
	transfer(t, client, server, 1<<20)
	eventually(t, "it is seen", func() bool { _, ok := r.find(client.LocalAddr()); return ok })
	run(t, "ip", "-n", far.name, "route", "add", "blackhole", near.address+"/32")
	if _, err := client.Write(make([]byte, 100<<10)); err != nil {
		t.Fatal(err)
	}
	f, _ := r.find(client.LocalAddr())
	eventually(t, "two timeouts", func() bool { return len(r.eventsOf(f.ID, tcp.EventTimeout)) >= 2 })
	for _, e := range r.eventsOf(f.ID, tcp.EventTimeout) {
		if e.Code != tcp.CodeTimeout || e.Value < 1000 || e.Value > 2e6 || e.CAState != tcp.CALoss {
			t.Errorf("timeout %+v", e)
		}
	}
	if s, _ := r.last(f.ID); s.Values[tcp.Backoff] < 1 || s.Values[tcp.CAStateField] != int64(tcp.CALoss) {
		t.Errorf("back-off %d, ca_state %d", s.Values[tcp.Backoff], s.Values[tcp.CAStateField])
	}
	var causes []tcp.Cause
	for _, e := range r.eventsOf(f.ID, tcp.EventRetransmit) {
		causes = append(causes, e.Cause)
	}
	if !slices.Contains(causes, tcp.CauseRTO) {
		t.Errorf("causes of retransmissions: %v, want rto among them", causes)
	}
}

// TestOverflowingQueueGivesRecovery sends through a queue that is too short.
func TestOverflowingQueueGivesRecovery(t *testing.T) {
	near, far := makePair(t)
	client, server := connectPair(t, near, far)
	if err := setCongestionControl(client, "cubic"); err != nil {
		t.Fatal(err)
	}
	run(t, "tc", "-n", near.name, "qdisc", "add", "dev", "v0", "root", "tbf", "rate", "50mbit", "burst", "10kb",
		"limit", "60kb")
	r, _, _ := start(t, Options{Filter: filter.Filter{NetNS: []uint32{near.inode}}})
	transfer(t, client, server, 8<<20)
	f, ok := r.find(client.LocalAddr())
	if !ok || f.CongestionControl != "cubic" {
		t.Fatalf("flow %+v", f)
	}
	for _, c := range []struct {
		kind tcp.EventKind
		code tcp.ErrorCode
	}{{tcp.EventCAState, tcp.CodeNone}, {tcp.EventRetransmit, tcp.CodeNone}} {
		// A busy machine may poll at no moment of a transfer's recovery.
		eventually(t, c.kind.String(), func() bool {
			list := r.eventsOf(f.ID, c.kind)
			if len(list) == 0 {
				transfer(t, client, server, 1<<20)
			}
			return len(list) > 0 && list[0].Code == c.code
		})
	}
	var sum int64
	for _, e := range r.eventsOf(f.ID, tcp.EventRetransmit) {
		sum += e.Value
	}
	samples := r.samples[f.ID]
	s := samples[len(samples)-1]
	first := r.samples[f.ID][0]
	if total := s.Values[tcp.RetransmitsPackets] - first.Values[tcp.RetransmitsPackets]; sum != total || total == 0 {
		t.Errorf("events tell of %d retransmissions, the counter of %d", sum, total)
	}
	if v, ok := s.Get(tcp.SsthreshPackets); !ok || v < 2 {
		t.Errorf("ssthresh after a loss: %d, %v", v, ok)
	}
	if err := setCongestionControl(client, "reno"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the change of congestion control", func() bool {
		list := r.eventsOf(f.ID, tcp.EventCCChange)
		return len(list) == 1 && list[0].Text == "reno"
	})
}
