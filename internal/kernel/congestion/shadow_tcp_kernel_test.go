//go:build kernel

package congestion

import (
	"errors"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"

	"airtide/test/testnet"
)

// registerShadow registers the kernel's CUBIC with airtide's beside it.
func registerShadow(t *testing.T) (name string, shadows *ebpf.Map) {
	t.Helper()
	types, err := btf.LoadKernelSpec()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := types.AnyTypeByName("cubictcp_cong_avoid"); err != nil {
		t.Skip("this kernel does not lend its CUBIC to BPF programs (built in, and before Linux 7.1)")
	}
	spec, err := loadShadow()
	if err != nil {
		t.Fatal(err)
	}
	name = uniqueName("sh")
	hz, err := TickRate()
	if err != nil {
		t.Fatal(err)
	}
	parameters := toWire(CubicPlain, CubicPlain.Defaults(), hz)
	err = errors.Join(rename(spec.Maps["congestion_ops"], name), spec.Variables["parameters"].Set(parameters))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := loadOps(spec)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	t.Cleanup(objects.Close)
	l, err := link.AttachStructOps(link.StructOpsOptions{Map: objects.Maps["congestion_ops"]})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return name, objects.Maps["shadows"]
}

// On a path with delay, a queue, losses, timeouts and pauses every step of airtide's CUBIC is the
// kernel's, from the same state: all of the private state to the bit, but K, which the kernel
// computes by an approximate cube root.
func TestCubicPlainIsTheKernelsCubicStepByStep(t *testing.T) {
	name, shadows := registerShadow(t)
	n := testnet.New(t, testnet.Options{Segments: true})
	n.Client.Out.Delay(5 * time.Millisecond)
	client, server := n.Connect(testnet.Dial{CongestionControl: name})
	testnet.MustSend(t, client, server, 2<<20)
	n.Client.Out.DropEvery(400)
	testnet.MustSend(t, client, server, 2<<20)
	n.Client.Out.DropEvery(0)
	timeOut(t, n, client, server)
	n.Client.Out.DropEvery(150)
	testnet.MustSend(t, client, server, 2<<20)
	// Longer than the 1/32 s after which the cubic is looked at though the window has stayed as it
	// was.
	n.Client.Out.Delay(40 * time.Millisecond)
	n.Client.Out.DropEvery(700)
	testnet.MustSend(t, client, server, 2<<20)
	var s shadowShadow
	if err := shadows.Lookup(uint32(0), &s); err != nil {
		t.Fatal(err)
	}
	t.Logf(
		"steps %v (cong_avoid, ssthresh, acked, state, event), %d epochs, K differs by at most %d/10000, %d "+
			"slow starts ended by HyStart, %d split by a tick",
		s.Steps, s.Epochs, s.WorstK, s.SlowStartsEnded, s.Split)
	for hook, differ := range s.Differ {
		if s.Steps[hook] == 0 {
			t.Errorf("hook %d was never called", hook)
		}
		if differ != 0 {
			t.Errorf(
				"hook %d differs %d times of %d; the last of any (hook %d):\nairtide %v\nkernel  %v", hook, differ,
				s.Steps[hook], s.DifferedIn, s.Ours, s.Kernels,
			)
		}
	}
	if s.Steps[0] < 500 || s.Epochs < 3 {
		t.Errorf("only %d steps and %d epochs below the last maximum were compared", s.Steps[0], s.Epochs)
	}
	// The kernel's cube root: 0.195 % on average by its own comment.
	if s.WorstK > 100 {
		t.Errorf("K differs by %d/10000", s.WorstK)
	}
}
