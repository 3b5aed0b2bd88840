package rwnd

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"
)

// ErrNotSupported means that the kernel lacks a feature or refuses it to this process.
var ErrNotSupported = errors.New("not supported here")

// Ends are the addresses of a connection; IPv4 in either form.
type Ends struct{ Local, Remote netip.AddrPort }

// Bound is the window of one connection.
type Bound struct {
	Ends
	// Bytes is the largest window. 0 means no bound; the connection is only measured. The value is
	// rounded up to a multiple of the connection's window scale.
	Bytes uint32
}

// Windows bounds the receive windows of a network namespace. It is not safe for concurrent use.
type Windows struct {
	objects windowObjects
	devices devices
	order   windowRwndOrder
	flows   map[windowRwndFlow]*flow
}

// flow holds the bound and the last counters of a connection.
type flow struct {
	bytes  uint32
	listed bool // it is in the bounds of the running Set
	last   windowRwndSeen
}

// Attach attaches to an interface of the calling thread's network namespace, or to all interfaces
// but loopback if device is "". No window is bounded before Set and ExtendLease. The error wraps
// ErrNotSupported if the kernel lacks TCX.
func Attach(device string) (w *Windows, err error) {
	// Kernels before 5.11 count BPF memory against a limit.
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, fmt.Errorf("bounding receive windows: %w", err)
	}
	w = &Windows{flows: map[windowRwndFlow]*flow{}}
	if err := loadWindowObjects(&w.objects, nil); err != nil {
		if errors.Is(err, ebpf.ErrNotSupported) || errors.Is(err, unix.EPERM) {
			err = fmt.Errorf("%w: %w", ErrNotSupported, err)
		}
		return nil, fmt.Errorf("bounding receive windows: %w", err)
	}
	w.devices, err = openDevices(device)
	if err == nil {
		err = w.AttachNewInterfaces()
	}
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// AttachNewInterfaces attaches to new interfaces and detaches from removed ones.
func (w *Windows) AttachNewInterfaces() error {
	if err := w.devices.look(w.objects.Leaves, w.objects.Arrives); err != nil {
		return fmt.Errorf("bounding receive windows: %w", err)
	}
	return nil
}

// ExtendLease extends the lease of all bounds to a monotonic time. Bounds end then even if this
// process hangs or is killed. Without a lease no bound is in force.
func (w *Windows) ExtendLease(until time.Duration) error {
	w.order.UntilNs = uint64(until)
	return w.give()
}

func (w *Windows) give() error {
	if err := w.objects.Order.Put(uint32(0), &w.order); err != nil {
		return fmt.Errorf("renewing the lease of receive windows: %w", err)
	}
	return nil
}

// Set replaces the bounds of all connections. A connection without a bound is neither bounded nor
// measured.
func (w *Windows) Set(bounds []Bound) error {
	for _, f := range w.flows {
		f.listed = false
	}
	for _, b := range bounds {
		if err := w.set(keyOf(b.Ends), b.Bytes); err != nil {
			return fmt.Errorf("bounding the receive window of %s: %w", b.Remote, err)
		}
	}
	for key, f := range w.flows {
		if f.listed {
			continue
		}
		if err := errors.Join(gone(w.objects.Bounds.Delete(key)), gone(w.objects.Seen.Delete(key))); err != nil {
			return fmt.Errorf("letting receive windows go: %w", err)
		}
		delete(w.flows, key)
	}
	return nil
}

func (w *Windows) set(key windowRwndFlow, bytes uint32) error {
	f := w.flows[key]
	if f == nil {
		if err := w.objects.Seen.Put(key, &windowRwndSeen{}); err != nil {
			return err
		}
		f = &flow{}
		w.flows[key] = f
	}
	f.listed = true
	if f.bytes == bytes {
		return nil
	}
	f.bytes = bytes
	if bytes == 0 {
		return gone(w.objects.Bounds.Delete(key))
	}
	return w.objects.Bounds.Put(key, bytes)
}

func gone(err error) error {
	if errors.Is(err, ebpf.ErrKeyNotExist) {
		return nil
	}
	return err
}

// Sample is a measurement of a connection between two calls of Measure.
type Sample struct {
	// RTT and MinRTT are the mean and the smallest round-trip time: from an acknowledgement to the
	// first data that the sender sent after it. They are 0 if unknown, for example without TCP
	// timestamps.
	RTT, MinRTT time.Duration
	// InUse is the share of round trips in which the sender used the whole bounded window.
	InUse float64
	// Bounded counts the segments whose window was reduced.
	Bounded int
}

// Measure returns the measurements of connections named by Set since the last call. Other
// connections have none.
func (w *Windows) Measure(ends []Ends) ([]Sample, error) {
	all := make([]Sample, len(ends))
	for i, e := range ends {
		key := keyOf(e)
		f := w.flows[key]
		if f == nil {
			continue
		}
		var now windowRwndSeen
		if err := w.objects.Seen.Lookup(key, &now); err != nil {
			return nil, fmt.Errorf("measuring what is received from %s: %w", e.Remote, err)
		}
		all[i] = f.grown(now, w.order.Period)
	}
	w.order.Period++
	return all, w.give()
}

// grown returns the growth since the last call.
func (f *flow) grown(now windowRwndSeen, period uint64) (s Sample) {
	s.Bounded = int(now.Bounded - f.last.Bounded)
	if n := now.Rtts - f.last.Rtts; n > 0 {
		s.RTT = time.Duration(now.RttNs-f.last.RttNs) / time.Duration(n)
		s.InUse = math.Min(float64(now.Used-f.last.Used)/float64(n), 1)
		s.MinRTT = s.RTT
		if now.Period == period {
			s.MinRTT = min(time.Duration(now.RttMinNs), s.RTT)
		}
	}
	f.last = now
	return s
}

// Close lifts all bounds.
func (w *Windows) Close() error {
	if err := errors.Join(w.devices.close(), w.objects.Close()); err != nil {
		return fmt.Errorf("letting receive windows go: %w", err)
	}
	return nil
}

// keyOf returns the map key of a connection: IPv4 mapped into IPv6, in network byte order.
func keyOf(e Ends) (k windowRwndFlow) {
	k.Local, k.LocalPort = wire(e.Local)
	k.Remote, k.RemotePort = wire(e.Remote)
	return k
}
