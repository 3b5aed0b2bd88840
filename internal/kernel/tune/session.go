package tune

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"airtide/internal/kernel/congestion"
	"airtide/internal/sys/lock"
)

// session is the state of a tune for other processes, as JSON in a map in the tune's folder.
type session struct {
	ID string `json:"id"`
	// PID is in the PID namespace of the process, so only people look for it.
	PID   int       `json:"pid"`
	Begun time.Time `json:"begun"`
	// BootNs is Begun by CLOCK_BOOTTIME, which orders sessions even if the wall clock jumps.
	BootNs    int64     `json:"begun_boot_ns"`
	Keep      bool      `json:"keep"`
	Selection Selection `json:"selection"`
	Settings  Settings  `json:"settings"`
	Routes    []route   `json:"routes,omitempty"`
	Sysctls   []sysctl  `json:"sysctls,omitempty"`
}

// number is the session's in the programs.
func (s *session) number() uint64 {
	n, _ := strconv.ParseUint(s.ID, 16, 64)
	return n
}

// running reports whether the process of the tune still exists. The process locks the tune's folder
// while it runs, which is certain also across PID namespaces.
func (d *sessionStore) running(s *session) bool { return lock.Held(d.path(s, "")) }

// sessionStore is the locked folder of all tunes on the BPF file system. Only one process changes
// it at a time.
type sessionStore struct {
	folder  string
	lock    *os.File
	storage *ebpf.Map
}

// Names below the folder.
const (
	storeFolder = "airtide/tune"
	storageFile = "sockets"
	infoFile    = "info"
	infoBytes   = 1 << 16
)

func storeAt(bpffs string) string {
	if bpffs == "" {
		bpffs = congestion.DefaultBPFFS
	}
	return filepath.Join(bpffs, storeFolder)
}

// neverUsed reports that no tune was ever started here. It does not mount or create anything.
func neverUsed(bpffs string) bool {
	_, err := os.Stat(storeAt(bpffs))
	return errors.Is(err, os.ErrNotExist)
}

// openStore locks the folder and creates its missing parts. It waits for another tune that changes
// sockets; only root can open the folder, so nobody else can hold the lock.
func openStore(ctx context.Context, bpffs string) (*sessionStore, error) {
	if err := congestion.EnsureBPFFS(bpffs); err != nil {
		return nil, err
	}
	d := &sessionStore{folder: storeAt(bpffs)}
	if err := os.MkdirAll(d.folder, 0o700); err != nil {
		return nil, fmt.Errorf("making a folder for what is remembered: %w", err)
	}
	var err error
	d.lock, err = os.Open(d.folder)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", d.folder, err)
	}
	if err = lock.WaitFile(ctx, d.lock, lock.Unlimited); err == nil {
		err = d.openStorage()
	}
	if err != nil {
		_ = d.lock.Close()
		return nil, fmt.Errorf("locking %s: %w", d.folder, err)
	}
	return d, nil
}

// openExistingStore is openDesk without creating anything. It returns nil if no tune was ever
// started here.
func openExistingStore(ctx context.Context, bpffs string) (*kernel, *sessionStore, error) {
	k, err := examineKernel()
	if err != nil || neverUsed(bpffs) {
		return nil, nil, err
	}
	d, err := openStore(ctx, bpffs)
	return k, d, err
}

// openSession opens the desk and reads the state of a tune, which the end of another tune may have
// changed.
func openSession(ctx context.Context, bpffs, id string) (*sessionStore, *session, error) {
	d, err := openStore(ctx, bpffs)
	if err != nil {
		return nil, nil, err
	}
	s, err := d.find(id)
	if err != nil {
		_ = d.close()
		return nil, nil, err
	}
	return d, s, nil
}

// openStorage opens the storage that all tunes share, or makes it.
func (d *sessionStore) openStorage() error {
	spec, err := loadSockets()
	if err != nil {
		return err
	}
	want := spec.Maps[storageMap]
	path := filepath.Join(d.folder, storageFile)
	d.storage, err = ebpf.LoadPinnedMap(path, nil)
	switch {
	case errors.Is(err, os.ErrNotExist):
		d.storage, err = ebpf.NewMap(want)
		if err != nil {
			return explain(err)
		}
		return d.storage.Pin(path)
	case err != nil:
		return err
	case d.storage.ValueSize() != want.ValueSize:
		return fmt.Errorf("%s is of another version of airtide: undo with that one, or remove the folder", path)
	}
	return nil
}

func (d *sessionStore) close() error { return errors.Join(d.storage.Close(), d.lock.Close()) }

// sessions reads all that are there, the oldest first.
func (d *sessionStore) sessions() ([]*session, error) {
	entries, err := os.ReadDir(d.folder)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", d.folder, err)
	}
	var all []*session
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		s, err := d.read(e.Name())
		if errors.Is(err, os.ErrNotExist) {
			// The process died before it wrote its state, so it has changed nothing.
			if err := removeFolder(filepath.Join(d.folder, e.Name())); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *session) int { return cmp.Compare(a.BootNs, b.BootNs) })
	return all, nil
}

func (d *sessionStore) find(id string) (*session, error) {
	s, err := d.read(id)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%w: %s (airtide tune show)", ErrNoSuch, id)
	}
	return s, err
}

func (d *sessionStore) read(id string) (*session, error) {
	if id != filepath.Base(id) {
		return nil, fmt.Errorf("%w: %q", ErrNoSuch, id)
	}
	m, err := ebpf.LoadPinnedMap(filepath.Join(d.folder, id, infoFile), nil)
	if err != nil {
		return nil, fmt.Errorf("reading tune %s: %w", id, err)
	}
	defer m.Close()
	raw, err := m.LookupBytes(uint32(0))
	if err != nil {
		return nil, fmt.Errorf("reading tune %s: %w", id, err)
	}
	s := &session{}
	if err := json.Unmarshal(bytes.TrimRight(raw, "\x00"), s); err != nil {
		return nil, fmt.Errorf("reading tune %s: %w", id, err)
	}
	return s, nil
}

// write stores the state of a tune before the tune changes anything.
func (d *sessionStore) write(s *session) error {
	raw, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if len(raw) > infoBytes {
		return fmt.Errorf("remembering the tune: %d bytes, and there is room for %d: pick fewer sockets", len(raw),
			infoBytes)
	}
	value := make([]byte, infoBytes)
	copy(value, raw)
	path := filepath.Join(d.folder, s.ID, infoFile)
	m, err := ebpf.LoadPinnedMap(path, nil)
	if errors.Is(err, os.ErrNotExist) {
		m, err = ebpf.NewMap(
			&ebpf.MapSpec{Name: "tune_info", Type: ebpf.Array, KeySize: 4, ValueSize: infoBytes, MaxEntries: 1},
		)
		if err == nil {
			// The map is pinned last, so that no process reads a part of it.
			defer m.Close()
			return errors.Join(m.Put(uint32(0), value), m.Pin(path))
		}
	}
	if err != nil {
		return fmt.Errorf("remembering the tune: %w", err)
	}
	defer m.Close()
	return m.Put(uint32(0), value)
}

// begin makes the folder of a new session, which the file locks until it is closed.
func (d *sessionStore) begin(sel Selection, to Settings, keep bool) (*session, *os.File, error) {
	var boot unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &boot) // cannot fail: Linux has it since 2.6.39
	s := &session{
		PID: os.Getpid(), Begun: time.Now(), BootNs: boot.Nano(), Keep: keep, Selection: sel, Settings: to,
	}
	for {
		var random [8]byte
		_, _ = rand.Read(random[:4])
		n := binary.LittleEndian.Uint64(random[:])
		if n == 0 {
			continue
		}
		s.ID = fmt.Sprintf("%x", n)
		err := os.Mkdir(d.path(s, ""), 0o700)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return nil, nil, fmt.Errorf("remembering the tune: %w", err)
		}
		alive, err := os.Open(d.path(s, ""))
		if err == nil {
			err = lock.TryFile(alive)
		}
		if err == nil {
			err = d.write(s)
		}
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("remembering the tune: %w", err), alive.Close(), d.end(s))
		}
		return s, alive, nil
	}
}

func (d *sessionStore) path(s *session, name string) string {
	return filepath.Join(d.folder, s.ID, name)
}

// end removes the session's folder.
func (d *sessionStore) end(s *session) error { return removeFolder(filepath.Join(d.folder, s.ID)) }

func removeFolder(path string) error {
	// The BPF file system removes only empty folders, and os.RemoveAll uses operations that its
	// files lack.
	files, err := os.ReadDir(path)
	for _, f := range files {
		err = errors.Join(err, os.Remove(filepath.Join(path, f.Name())))
	}
	if err = errors.Join(err, os.Remove(path)); err != nil {
		return fmt.Errorf("removing what is remembered of a tune: %w", err)
	}
	return nil
}
