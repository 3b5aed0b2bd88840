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

// registerShadow registers a congestion control that runs the kernel's CUBIC and airtide's.
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

// On a path with delay, a queue, losses, timeouts and pauses, each step of airtide's CUBIC equals
// the kernel's step from the same state. Only K may differ, because the kernel's cube root is
// approximate.
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
	// Longer than 1/32 s, after which CUBIC computes its target although the window is the same.
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
			t.Errorf("hook %d differs in %d of %d steps; the last difference (hook %d):\nairtide %v\nkernel  %v", hook,
				differ, s.Steps[hook], s.DifferedIn, s.Ours, s.Kernels)
		}
	}
	if s.Steps[0] < 500 || s.Epochs < 3 {
		t.Errorf("compared %d steps and %d epochs below the last maximum, want at least 500 and 3",
			s.Steps[0], s.Epochs)
	}
	// By its comment, the kernel's cube root is off by 0.195 % on average.
	if s.WorstK > 100 {
		t.Errorf("K differs by up to %d/10000, want at most 100/10000", s.WorstK)
	}
}
