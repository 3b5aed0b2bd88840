package tune

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"airtide/internal/kernel/sockets/owner"
)

// Options say how to apply.
type Options struct {
	// Keep lets it last when the process ends, until Undo.
	Keep bool
	// BPFFS is the mount point of the BPF file system, which is mounted if necessary. An empty
	// string means congestion.DefaultBPFFS.
	BPFFS string
}

// Applied is a tune that is in force. Its methods may be called from any goroutine.
type Applied struct {
	// ID names it to Undo and to airtide tune undo.
	ID string
	// Removed are tunes that processes had left which were killed, and which were taken back before
	// this one began.
	Removed []Undone

	mu       sync.Mutex // one walk at a time
	kernel   *kernel
	programs *programs
	session  *session
	options  Options
	links    []link.Link
	alive    *os.File          // locks the tune's folder
	errors   map[string]string // key: route
	closed   bool
	stop     context.CancelFunc
	followed chan struct{}
}

// followEvery is the interval at which settings are restored that the kernel changes by itself.
const followEvery = time.Second

// Apply sets values on existing sockets and on new sockets until Close. It first undoes tunes of
// killed processes.
//
// Report lists the settings that failed on single sockets. Apply returns an error for invalid
// settings, for a kernel without support (ErrNotSupported), and if nothing could be changed; then
// nothing stays changed.
func Apply(ctx context.Context, s Selection, to Settings, o Options) (*Applied, error) {
	if err := errors.Join(s.Check(), to.Check()); err != nil {
		return nil, err
	}
	k, err := examineKernel()
	if err != nil {
		return nil, err
	}
	if err := checkCongestionControl(to.CongestionControl); err != nil {
		return nil, err
	}
	d, err := openStore(ctx, o.BPFFS)
	if err != nil {
		return nil, err
	}
	defer d.close()
	a := &Applied{kernel: k, options: o, errors: map[string]string{}}
	a.Removed, err = d.removeDead(ctx, k)
	if err != nil {
		return nil, err
	}
	if _, err := k.wire(0, to); err != nil {
		return nil, err
	}
	a.programs, err = load(d.storage, &s)
	if err != nil {
		return nil, err
	}
	a.session, a.alive, err = d.begin(s, to, o.Keep)
	if err != nil {
		a.programs.close()
		return nil, err
	}
	a.ID = a.session.ID
	if err := a.begin(ctx, d); err != nil {
		_, undoErr := d.undo(context.WithoutCancel(ctx), k, a.session)
		a.letGo()
		return nil, errors.Join(err, undoErr)
	}
	a.follow()
	return a, nil
}

// begin attaches the hooks, and then changes the sockets that are there.
func (a *Applied) begin(ctx context.Context, d *sessionStore) error {
	if err := a.configure(a.session.Settings); err != nil {
		return err
	}
	for _, name := range []string{configMap, countsMap} {
		if err := a.programs.Maps[name].Pin(d.path(a.session, name)); err != nil {
			return fmt.Errorf("remembering the tune: %w", err)
		}
	}
	if err := a.attach(d); err != nil {
		return err
	}
	return a.apply(ctx, d)
}

func (a *Applied) configure(to Settings) error {
	c, err := a.kernel.wire(a.session.number(), to)
	if err != nil {
		return err
	}
	if err := a.programs.Maps[configMap].Put(uint32(0), c); err != nil {
		return fmt.Errorf("handing over the settings: %w", err)
	}
	return nil
}

// apply changes the sockets that are there.
func (a *Applied) apply(ctx context.Context, d *sessionStore) error {
	s := a.session
	if s.Selection.byProcess() {
		if err := a.programs.chooseByProcess(ctx, a.kernel, &s.Selection); err != nil {
			return err
		}
	}
	if s.Settings.rtoMinByRoute() && s.Selection.onlyNetNS() {
		for _, netns := range s.Selection.NetNS {
			err := setRTOMinSysctl(netns, s.Settings.MinRTOUs, func(c sysctl) error {
				s.Sysctls = append(s.Sysctls, c)
				return d.write(s)
			})
			if err != nil {
				return err
			}
		}
	}
	if s.Settings.onlyNew() {
		return ctx.Err()
	}
	if err := a.programs.walk(
		ctx, a.kernel, socketsTuneModeTUNE_APPLY, s.number(), s.Selection.NetNS, nil,
	); err != nil {
		return err
	}
	return a.setRoutes(ctx, d)
}

// attach hooks into the cgroups that are picked, or into the root.
func (a *Applied) attach(d *sessionStore) error {
	groups, err := owner.OpenCgroups()
	if err != nil {
		return fmt.Errorf("catching new sockets: %w", err)
	}
	paths := []string{groups.Mount()}
	if picked := a.session.Selection.Cgroups; len(picked) > 0 {
		paths = nil
		for _, id := range picked {
			below, ok := groups.Path(id)
			if !ok {
				return fmt.Errorf("catching new sockets: there is no cgroup %d", id)
			}
			paths = append(paths, filepath.Join(groups.Mount(), below))
		}
	}
	for i, path := range paths {
		l, err := link.AttachCgroup(
			link.CgroupOptions{Path: path, Attach: ebpf.AttachCGroupSockOps, Program: a.programs.Programs[hookProgram]},
		)
		if err != nil {
			return fmt.Errorf("catching new sockets in cgroup %s: %w", path, err)
		}
		a.links = append(a.links, l)
		if a.options.Keep {
			if err := l.Pin(d.path(a.session, fmt.Sprintf("link%d", i))); err != nil {
				return fmt.Errorf("remembering the tune: %w", err)
			}
		}
	}
	return nil
}

// Reapply sets the values again on all sockets of the selection: on those whose program has chosen
// another congestion control since, and on those that were missed. What the program has chosen is
// restored at the end.
func (a *Applied) Reapply(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return fmt.Errorf("applying tune %s again: it has ended", a.ID)
	}
	return a.walk(ctx, socketsTuneModeTUNE_APPLY, nil)
}

// Close restores all previous values, unless the tune is to be kept.
func (a *Applied) Close() error {
	if a.options.Keep {
		a.end()
		return nil
	}
	_, err := a.Undo(context.Background())
	return err
}

// Undo restores all previous values, even if the tune was to be kept. It returns without error if
// another process has undone the tune.
func (a *Applied) Undo(ctx context.Context) (*Undone, error) {
	if a.end() {
		return &Undone{ID: a.ID}, nil
	}
	d, s, err := openSession(ctx, a.options.BPFFS, a.ID)
	if errors.Is(err, ErrNoSuch) {
		return &Undone{ID: a.ID}, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.close()
	return d.undo(ctx, a.kernel, s)
}

// end releases the resources of this process. It reports whether that was done before.
func (a *Applied) end() (before bool) {
	if a.stop != nil {
		a.stop()
		<-a.followed
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return true
	}
	a.closed = true
	a.letGo()
	return false
}

func (a *Applied) letGo() {
	for _, l := range a.links {
		_ = l.Close()
	}
	a.programs.close()
	_ = a.alive.Close()
}
