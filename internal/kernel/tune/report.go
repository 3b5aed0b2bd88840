package tune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/cilium/ebpf"

	"airtide/internal/kernel/sockets/owner"
)

// Report is the present state of a tune, read from the kernel.
type Report struct {
	ID        string    `json:"id"`
	PID       int       `json:"pid"`
	Running   bool      `json:"running"` // the process that began it is there
	Keep      bool      `json:"keep"`
	Begun     time.Time `json:"begun"`
	Selection Selection `json:"selection"`
	Settings  Settings  `json:"settings"`
	Counts    Counts    `json:"counts"`
	Sockets   []Socket  `json:"sockets"`
	Routes    []Route   `json:"routes,omitempty"`
	Sysctls   []Sysctl  `json:"sysctls,omitempty"`
}

// Counts sum up a report.
type Counts struct {
	// Matched is the sum of Changed, Failed, Connecting, Gone and NoRoom.
	Matched int `json:"matched"`
	// New counts the matched sockets that began after the tune.
	New int `json:"new"`
	// Changed have each value that was wanted, as read back.
	Changed int `json:"changed"`
	// Failed have not, in at least one setting.
	Failed int `json:"failed"`
	// Connecting have not been changed yet.
	Connecting int `json:"connecting"`
	// Gone counts the matched sockets that have ended.
	Gone int `json:"gone"`
	// GoneChanged and GoneFailed count those of Gone that a history read back before they closed.
	GoneChanged int `json:"gone_changed"`
	GoneFailed  int `json:"gone_failed"`
	// NoRoom were left alone: their values could not be kept for a restoration, because too many
	// tunes have changed them or memory lacked.
	NoRoom int `json:"no_room"`
	// Handshakes were given an initial RTO.
	Handshakes int `json:"handshakes"`
	// Held counts the repairs of a window clamp that the kernel had moved.
	Held int `json:"held"`
}

// Socket is a socket changed by a tune.
type Socket struct {
	Cookie            uint64         `json:"cookie"`
	Local             netip.AddrPort `json:"local"`
	Remote            netip.AddrPort `json:"remote"`
	NetNS             uint32         `json:"netns"`
	Cgroup            uint64         `json:"cgroup"`
	PID               uint32         `json:"pid,omitempty"`
	Comm              string         `json:"comm,omitempty"`
	New               bool           `json:"new"`
	CongestionControl string         `json:"congestion_control"`
	CwndPackets       uint32         `json:"cwnd_packets"`
	SsthreshPackets   uint32         `json:"ssthresh_packets"`
	RTOUs             int64          `json:"rto_us"`
	Values            []Value        `json:"values"`
	inode             uint64
}

// Failed reports whether a value differs from the wanted value.
func (s *Socket) Failed() bool {
	return slices.ContainsFunc(s.Values, func(v Value) bool { return !v.OK })
}

// Value is a setting of a socket: an integer in the unit of the name, or the name of a congestion
// control. Zero means unlimited.
type Value struct {
	Name   string `json:"name"`
	Before any    `json:"before"`
	Want   any    `json:"want"`
	Now    any    `json:"now"`
	OK     bool   `json:"ok"`
	// By is how it was set, for the bounds of the window.
	By string `json:"by,omitempty"`
	// Error is the reason why the value differs from the wanted value.
	Error string `json:"error,omitempty"`
	// Later is set when a later tune has set the same, which counts.
	Later bool `json:"later,omitempty"`
}

// Route is a minimum RTO for one peer of a network namespace, for all sockets that speak to it.
type Route struct {
	NetNS    uint32 `json:"netns"`
	To       string `json:"to"`
	MinRTOUs uint32 `json:"min_rto_us"`
	OK       bool   `json:"ok"`
	// Gone means that the namespace has ended, and the route with it.
	Gone  bool   `json:"gone,omitempty"`
	Error string `json:"error,omitempty"`
}

// Sysctl is a parameter of a network namespace.
type Sysctl struct {
	NetNS  uint32 `json:"netns"`
	Name   string `json:"name"`
	Before string `json:"before"`
	Want   string `json:"want"`
	Now    string `json:"now"`
	OK     bool   `json:"ok"`
	// Gone means that the namespace has ended. Now is empty then.
	Gone bool `json:"gone,omitempty"`
}

// Report reads the present value of each socket from the kernel.
func (a *Applied) Report(ctx context.Context) (*Report, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, fmt.Errorf("reading tune %s: it has ended", a.ID)
	}
	return report(ctx, a.kernel, a.programs, a.programs.Maps[countsMap], a.session, a.errors)
}

// Show returns the reports of all tunes in force, the oldest first, including those of killed
// processes.
func Show(ctx context.Context, bpffs string) ([]Report, error) {
	k, d, err := openExistingStore(ctx, bpffs)
	if err != nil || d == nil {
		return nil, err
	}
	defer d.close()
	all, err := d.sessions()
	if err != nil || len(all) == 0 {
		return nil, err
	}
	p, err := load(d.storage, nil)
	if err != nil {
		return nil, err
	}
	defer p.close()
	reports := []Report{}
	for _, s := range all {
		counts, err := ebpf.LoadPinnedMap(d.path(s, countsMap), nil)
		if errors.Is(err, os.ErrNotExist) {
			// The tune was killed before it had changed anything.
			counts = nil
			err = nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading tune %s: %w", s.ID, err)
		}
		r, err := report(ctx, k, p, counts, s, nil)
		counts.Close() // nil is allowed
		if err != nil {
			return nil, err
		}
		r.Running = d.running(s)
		reports = append(reports, *r)
	}
	return reports, nil
}

func report(
	ctx context.Context, k *kernel, p *programs, counts *ebpf.Map, s *session, failed map[string]string,
) (*Report, error) {
	r := &Report{
		ID: s.ID, PID: s.PID, Running: true, Keep: s.Keep, Begun: s.Begun, Selection: s.Selection,
		Settings: s.Settings,
		Sockets:  []Socket{},
	}
	seen := map[uint64]bool{}
	err := p.walk(ctx, k, socketsTuneModeTUNE_READ, s.number(), s.Selection.NetNS, func(record *socketsTuneRecord) {
		// A walk meets a socket twice that is moved meanwhile.
		if seen[record.Cookie] {
			return
		}
		seen[record.Cookie] = true
		if record.Slot.Flags&uint32(socketsTuneSlotFlagsTUNE_PENDING) != 0 {
			r.Counts.Connecting++
			return
		}
		socket := k.socket(record)
		if socket.Failed() {
			r.Counts.Failed++
		} else {
			r.Counts.Changed++
		}
		r.Sockets = append(r.Sockets, socket)
	})
	if err != nil {
		return nil, err
	}
	if err := r.count(counts); err != nil {
		return nil, err
	}
	if err := nameOwners(ctx, r.Sockets); err != nil {
		return nil, err
	}
	slices.SortFunc(r.Sockets, func(a, b Socket) int { return cmp.Compare(a.Cookie, b.Cookie) })
	return r, r.readRest(s, failed)
}

func (r *Report) count(counts *ebpf.Map) error {
	if counts == nil {
		return nil
	}
	var n [socketsTuneCountTUNE_COUNTS]uint64
	for i := range n {
		if err := counts.Lookup(uint32(i), &n[i]); err != nil {
			return fmt.Errorf("reading the counts of tune %s: %w", r.ID, err)
		}
	}
	c := &r.Counts
	c.New = int(n[socketsTuneCountTUNE_COUNT_NEW])
	c.NoRoom = int(n[socketsTuneCountTUNE_COUNT_NO_ROOM])
	c.Handshakes = int(n[socketsTuneCountTUNE_COUNT_INITIAL_RTO])
	c.Held = int(n[socketsTuneCountTUNE_COUNT_HELD])
	remembered := int(n[socketsTuneCountTUNE_COUNT_LIVE]) + c.New
	// A socket that began between the walk and the counts is reported by the next report.
	c.Gone = max(0, remembered-c.Changed-c.Failed-c.Connecting)
	c.Matched = remembered + c.NoRoom
	return nil
}

// nameOwners finds the processes of the sockets.
func nameOwners(ctx context.Context, sockets []Socket) error {
	if len(sockets) == 0 {
		return nil
	}
	owners := owner.NewResolver()
	if err := owners.Refresh(ctx); err != nil {
		return fmt.Errorf("looking for the processes of sockets: %w", err)
	}
	for i := range sockets {
		if process, ok := owners.Lookup(sockets[i].inode); ok {
			sockets[i].PID = process.PID
			sockets[i].Comm = process.Comm
		}
	}
	return nil
}
