package tune

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cilium/ebpf"
)

// Undone is a tune that was taken back.
type Undone struct {
	ID string `json:"id"`
	// Sockets counts the restored sockets.
	Sockets int `json:"sockets"`
	// FixedBuffers counts sockets whose buffers stay fixed because no process holds them any more.
	FixedBuffers int `json:"fixed_buffers,omitempty"`
}

// Undo takes back a tune of any process. It also ends the tune of a process that still runs.
func Undo(ctx context.Context, bpffs, id string) (*Undone, error) {
	k, err := examineKernel()
	if err != nil {
		return nil, err
	}
	d, s, err := openSession(ctx, bpffs, id)
	if err != nil {
		return nil, err
	}
	defer d.close()
	return d.undo(ctx, k, s)
}

// UndoAll undoes kept tunes and those of killed processes. With running it also undoes those of
// running processes.
func UndoAll(ctx context.Context, bpffs string, running bool) ([]Undone, error) {
	k, d, err := openExistingStore(ctx, bpffs)
	if err != nil || d == nil {
		return nil, err
	}
	defer d.close()
	return d.undoThose(ctx, k, func(s *session) bool { return running || s.Keep || !d.running(s) })
}

// removeDead undoes the tunes of killed processes.
func (d *sessionStore) removeDead(ctx context.Context, k *kernel) ([]Undone, error) {
	return d.undoThose(ctx, k, func(s *session) bool { return !s.Keep && !d.running(s) })
}

func (d *sessionStore) undoThose(ctx context.Context, k *kernel, which func(*session) bool) (done []Undone, err error) {
	all, err := d.sessions()
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if !which(s) {
			continue
		}
		// The end of another tune may have changed the values to restore.
		s, err = d.find(s.ID)
		if err != nil {
			return done, err
		}
		u, err := d.undo(ctx, k, s)
		if err != nil {
			return done, err
		}
		done = append(done, *u)
	}
	return done, nil
}

// undo undoes a tune. Each step can be repeated, so the next call completes an interrupted undo.
func (d *sessionStore) undo(ctx context.Context, k *kernel, s *session) (*Undone, error) {
	fail := func(err error) (*Undone, error) { return nil, fmt.Errorf("undoing tune %s: %w", s.ID, err) }
	if err := d.stopHooks(s); err != nil {
		return fail(err)
	}
	p, err := load(d.storage, nil)
	if err != nil {
		return fail(err)
	}
	defer p.close()
	var records []socketsTuneRecord
	err = p.walk(ctx, k, socketsTuneModeTUNE_READ, s.number(), s.Selection.NetNS, func(r *socketsTuneRecord) {
		records = append(records, *r)
	})
	if err == nil {
		err = p.walk(ctx, k, socketsTuneModeTUNE_RELEASE, s.number(), s.Selection.NetNS, nil)
	}
	if err != nil {
		return fail(err)
	}
	u := &Undone{ID: s.ID, Sockets: len(records), FixedBuffers: free(fixedBuffers(records))}
	if err := d.undoRest(s); err != nil {
		return fail(err)
	}
	if err := d.end(s); err != nil {
		return fail(err)
	}
	return u, nil
}

// stopHooks lets new sockets be.
func (d *sessionStore) stopHooks(s *session) error {
	m, err := ebpf.LoadPinnedMap(d.path(s, configMap), nil)
	if errors.Is(err, os.ErrNotExist) {
		return nil // it did not come so far
	}
	if err != nil {
		return err
	}
	defer m.Close()
	if err := m.Put(uint32(0), &socketsTuneConfig{}); err != nil {
		return err
	}
	files, err := os.ReadDir(d.path(s, ""))
	for _, f := range files {
		if strings.HasPrefix(f.Name(), "link") {
			err = errors.Join(err, os.Remove(d.path(s, f.Name())))
		}
	}
	return err
}

// undoRest restores routes and sysctls.
func (d *sessionStore) undoRest(s *session) error {
	if len(s.Routes)+len(s.Sysctls) == 0 {
		return nil
	}
	all, err := d.sessions()
	if err != nil {
		return err
	}
	var later []*session
	for _, other := range all {
		if other.BootNs > s.BootNs {
			later = append(later, other)
		}
	}
	for _, r := range s.Routes {
		if err := d.inherit(undoRoute(r, later)); err != nil {
			return err
		}
	}
	for _, c := range s.Sysctls {
		if err := d.inherit(undoSysctl(c, later)); err != nil {
			return err
		}
	}
	return nil
}

// inherit stores the values that a later session inherited.
func (d *sessionStore) inherit(to *session, err error) error {
	if err != nil || to == nil {
		return err
	}
	return d.write(to)
}
