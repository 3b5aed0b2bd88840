//go:build kernel

package bpf

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/features"
	"golang.org/x/sys/unix"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/tcp"
	"airtide/test/need"
	"airtide/test/testnet"
)

// formVariable names the one way to attach that is tried, where loading takes long, as in an
// emulated machine.
const formVariable = "AIRTIDE_BPF_TEST_FORM"

// forms are the ways to attach that this kernel has. Every scenario is observed by all at once, so
// all see the same traffic.
var forms = func() []Attach {
	if only := os.Getenv(formVariable); only != "" {
		return []Attach{Attach(only)}
	}
	if trustsArguments() {
		return []Attach{AttachTrusted, AttachTPBTF, AttachRawTP}
	}
	return []Attach{AttachTPBTF, AttachRawTP}
}()

// trustsArguments reports whether the kernel's release is 6.9 or newer.
func trustsArguments() bool {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return false
	}
	var major, minor int
	n, _ := fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor)
	return n == 2 && (major > 6 || major == 6 && minor >= 9)
}

// ownTypes are the BTF of the kernel that runs.
func ownTypes(t *testing.T) *btf.Spec {
	t.Helper()
	types, err := kernelTypes("")
	if err != nil {
		t.Fatal(err)
	}
	return types
}

// recording keeps all that one source delivers.
type recording struct {
	form   Attach
	source *Source

	mu        sync.Mutex
	flows     map[tcp.FlowID]tcp.Flow
	announced map[tcp.FlowID]int
	samples   map[tcp.FlowID][]tcp.Sample
	events    map[tcp.FlowID][]tcp.Event
	loss      tcp.Loss
	stray     []string // records of flows that had not been announced
}

func (r *recording) Flow(f *tcp.Flow) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flows[f.ID] = *f
	r.announced[f.ID]++
	return nil
}

func (r *recording) Samples(b *tcp.Batch) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range b.Len() {
		var s tcp.Sample
		b.Row(i, &s)
		r.samples[s.Flow] = append(r.samples[s.Flow], s)
		if r.announced[s.Flow] == 0 {
			r.stray = append(r.stray, fmt.Sprintf("sample of flow %d", s.Flow))
		}
	}
	return nil
}

func (r *recording) Event(e *tcp.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events[e.Flow] = append(r.events[e.Flow], *e)
	if r.announced[e.Flow] == 0 {
		r.stray = append(r.stray, fmt.Sprintf("%s of flow %d", e.Kind, e.Flow))
	}
	return nil
}

func (r *recording) Radio(*tcp.Radio) error { return nil }

func (r *recording) Lost(l *tcp.Loss) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loss = *l
	r.loss.PerCPU = slices.Clone(l.PerCPU)
	return nil
}

// observation is one source for each form, running.
type observation struct {
	t          *testing.T
	network    *testnet.Network
	recordings []*recording
	cancel     context.CancelFunc
	running    sync.WaitGroup
	stopped    bool
}

// observe opens a source for each form and runs it until stop or the end of the test. The observed
// connections are in the network.
func observe(t *testing.T, n *testnet.Network, o Options) *observation {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	obs := &observation{t: t, network: n, cancel: cancel}
	t.Cleanup(obs.stop)
	sources := make([]*Source, len(forms))
	errs := make([]error, len(forms))
	var opening sync.WaitGroup
	for i, form := range forms {
		o := o
		o.Attach = form
		opening.Go(func() { sources[i], errs[i] = Open(o) })
	}
	opening.Wait()
	for i, form := range forms {
		if errs[i] != nil {
			for _, s := range sources {
				if s != nil {
					_ = s.Close()
				}
			}
			failOrSkip(t, errs[i])
		}
		r := &recording{
			form: form, source: sources[i], flows: map[tcp.FlowID]tcp.Flow{}, announced: map[tcp.FlowID]int{},
			samples: map[tcp.FlowID][]tcp.Sample{}, events: map[tcp.FlowID][]tcp.Event{},
		}
		obs.recordings = append(obs.recordings, r)
	}
	for _, r := range obs.recordings {
		obs.running.Go(func() {
			if err := r.source.Run(ctx, r); err != nil {
				t.Errorf("%s: running: %v", r.form, err)
			}
		})
	}
	return obs
}

// observeNetwork observes what both hosts of a network do.
func observeNetwork(t *testing.T, n *testnet.Network, o Options) *observation {
	t.Helper()
	o.Filter.NetNS = []uint32{n.Client.NetNS, n.Server.NetNS}
	return observe(t, n, o)
}

// failOrSkip skips the test only where the kernel cannot run the programs, and fails it where it
// should.
func failOrSkip(t *testing.T, err error) {
	t.Helper()
	need.Root(t)
	switch {
	case features.HaveMapType(ebpf.RingBuf) != nil:
		t.Skipf("needs the ring buffer of kernel 5.8: %v", err)
	case errors.Is(err, ErrNoBTF):
		t.Skipf("needs a kernel with BTF: %v", err)
	}
	// Kernels 5.8 or newer with BTF take tp_btf and raw_tp.
	t.Fatalf("opening the source: %v", err)
}

// open opens a source that the test runs itself.
func open(t *testing.T, o Options) *Source {
	t.Helper()
	s, err := Open(o)
	if err != nil {
		failOrSkip(t, err)
	}
	return s
}

// settled is the time without a segment after which all have been handled, and delayed ACKs sent.
const settled = 50 * time.Millisecond

// stop waits for the network to settle and ends the observation, which delivers everything that has
// been recorded. It may be called again.
func (o *observation) stop() {
	if o.stopped {
		return
	}
	o.stopped = true
	o.network.Settle(settled)
	o.cancel()
	o.running.Wait()
	for _, r := range o.recordings {
		if err := r.source.Close(); err != nil {
			o.t.Errorf("%s: closing: %v", r.form, err)
		}
	}
}

// check stops the observation and judges each form's recording.
func (o *observation) check(judge func(t *testing.T, r *recording)) {
	o.t.Helper()
	o.stop()
	for _, r := range o.recordings {
		o.t.Run(string(r.form), func(t *testing.T) {
			for _, s := range r.stray {
				t.Errorf("a %s came before the flow was announced", s)
			}
			judge(t, r)
		})
	}
}

// await waits until the condition holds in each recording.
func (o *observation) await(limit time.Duration, what string, condition func(r *recording) bool) {
	o.t.Helper()
	for _, r := range o.recordings {
		testnet.Eventually(o.t, limit, fmt.Sprintf("%s (%s)", what, r.form), func() bool {
			r.mu.Lock()
			defer r.mu.Unlock()
			return condition(r)
		})
	}
}

// find returns the flow of a socket by its addresses, shortened to IPv4 where they are v4-mapped.
func (r *recording) find(local, remote net.Addr) (tcp.Flow, bool) {
	for _, f := range r.flows {
		if tcp.Endpoint(f.Local) == endpoint(local) && tcp.Endpoint(f.Remote) == endpoint(remote) {
			return f, true
		}
	}
	return tcp.Flow{}, false
}

func endpoint(a net.Addr) string { return tcp.Endpoint(a.(*net.TCPAddr).AddrPort()) }

// flow is find for flows that must be there.
func (r *recording) flow(t *testing.T, c net.Conn) tcp.Flow {
	t.Helper()
	f, ok := r.find(c.LocalAddr(), c.RemoteAddr())
	if !ok {
		t.Fatalf("no flow %s > %s among %v", c.LocalAddr(), c.RemoteAddr(), r.flows)
	}
	return f
}

// of returns the events of a flow that have one of the kinds, in order.
func (r *recording) of(id tcp.FlowID, kinds ...tcp.EventKind) (out []tcp.Event) {
	for _, e := range r.events[id] {
		if slices.Contains(kinds, e.Kind) {
			out = append(out, e)
		}
	}
	return out
}

// packets returns the samples of a flow that a segment caused.
func (r *recording) packets(id tcp.FlowID) (out []tcp.Sample) {
	for _, s := range r.samples[id] {
		if _, ok := s.Get(tcp.AckBytes); ok {
			out = append(out, s)
		}
	}
	return out
}

// last returns the latest sample that a segment caused.
func (r *recording) last(t *testing.T, id tcp.FlowID) *tcp.Sample {
	t.Helper()
	p := r.packets(id)
	if len(p) == 0 {
		t.Fatalf("flow %d has no samples", id)
	}
	return &p[len(p)-1]
}

// newNetwork makes a network of separate segments with the round-trip time.
func newNetwork(t *testing.T, rtt time.Duration) *testnet.Network {
	t.Helper()
	n := testnet.New(t, testnet.Options{Segments: true})
	if rtt > 0 {
		n.Client.Out.Delay(rtt / 2)
		n.Server.Out.Delay(rtt / 2)
	}
	return n
}

func send(t *testing.T, from, to net.Conn, n int64) {
	t.Helper()
	for _, c := range []net.Conn{from, to} {
		if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	testnet.MustSend(t, from, to, n)
}

// quiet waits until everything is acknowledged and delayed ACKs have gone.
func quiet(t *testing.T, conns ...*net.TCPConn) {
	t.Helper()
	for _, c := range conns {
		testnet.Eventually(t, time.Minute, "all data to be acknowledged", func() bool {
			i := testnet.Info(t, c)
			return i.Unacked == 0 && i.Notsent_bytes == 0
		})
	}
	testnet.Still(t, settled, "the traffic", func() (segments string) {
		for _, c := range conns {
			i := testnet.Info(t, c)
			segments += fmt.Sprintln(i.Segs_in, i.Segs_out)
		}
		return segments
	})
}

func counters(t *testing.T, h *testnet.Host) map[string]uint64 {
	t.Helper()
	c, err := h.Counters()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func sysctl(t *testing.T, n *testnet.Network, name, value string) {
	t.Helper()
	for _, h := range []*testnet.Host{n.Client, n.Server} {
		if err := h.Sysctl(name, value); err != nil {
			t.Fatal(err)
		}
	}
}

func portOf(c net.Conn) uint16 { return c.LocalAddr().(*net.TCPAddr).AddrPort().Port() }

func onPorts(ports ...uint16) filter.Filter { return filter.Filter{Ports: ports} }
