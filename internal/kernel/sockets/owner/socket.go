package owner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Process names a process as this process sees it: in its own pid namespace.
type Process struct {
	PID  uint32
	Comm string
}

// Limits of scanning /proc. A scan reads one link for each open descriptor of the host, about 1 µs
// each.
const (
	// scanInterval is the least time between two scans.
	scanInterval = time.Second
	// scanShare bounds the share of one processor: after a scan of duration d, the next one starts
	// at least scanShare times d later.
	scanShare = 10
	// maxBackoff is the longest time between two searches for an inode that no readable process
	// holds.
	maxBackoff = 64 * time.Second
	// forgetAfter drops an inode that was searched for in vain and not asked for again.
	forgetAfter = 2 * maxBackoff
	// maxWanted bounds the inodes searched for at a time.
	maxWanted = 1 << 17
)

// Stats counts the work of a Resolver.
type Stats struct {
	Scans      uint64        // scans of /proc
	Processes  int           // processes that the last scan looked at
	Unreadable int           // processes without readable descriptors; their sockets have no owner
	Sockets    int           // sockets with a known owner
	LastScan   time.Duration // how long the last scan took
}

// Resolver finds the process that holds a socket by the socket's inode, and keeps the results. It
// scans /proc only if an unknown inode was requested, and stops when all requested inodes are
// found. If several processes hold a socket, the first one found counts, usually the one with the
// lowest pid, until it ends.
//
// All methods may be called from any goroutine. A nil Resolver finds no owner.
type Resolver struct {
	mu         sync.RWMutex
	byInode    map[uint64]Process
	wanted     map[uint64]want
	stats      Stats
	generation uint64

	scanMu   sync.Mutex // held while scanning; guards all below
	known    map[uint32]*process
	nextScan time.Time
	dir      directory
	pidList  []uint32
	link     [64]byte
	statBuf  [1024]byte
	ran      bool
}

// want is an inode that is searched for.
type want struct {
	misses uint8
	next   time.Time // earliest time of the next search
	asked  time.Time
}

type process struct {
	started uint64
	sockets []uint64
	mark    uint64 // scan in which it was last alive
}

// NewResolver makes an empty Resolver.
func NewResolver() *Resolver {
	return &Resolver{byInode: map[uint64]Process{}, wanted: map[uint64]want{}, known: map[uint32]*process{}}
}

// Lookup returns the known owner of the socket. It never blocks on /proc; the next Refresh searches
// for an unknown inode. Inode 0 (a socket that no process holds) is never found.
func (r *Resolver) Lookup(inode uint64) (Process, bool) {
	if r == nil || inode == 0 {
		return Process{}, false
	}
	r.mu.RLock()
	p, ok := r.byInode[inode]
	r.mu.RUnlock()
	if ok {
		return p, true
	}
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	w, ok := r.wanted[inode]
	if ok || len(r.wanted) < maxWanted {
		w.asked = now
		r.wanted[inode] = w
	}
	return Process{}, false
}

// Generation grows whenever a Refresh has found an owner or lost one, so that a caller need not ask
// again before.
func (r *Resolver) Generation() uint64 {
	if r == nil {
		return 0
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.generation
}

// Stats returns the counts so far.
func (r *Resolver) Stats() Stats {
	r.mu.RLock()
	defer r.mu.RUnlock()
	s := r.stats
	s.Sockets = len(r.byInode)
	return s
}

// Run calls Refresh until ctx ends, often enough for a new socket to have its owner within some 1.2
// seconds.
func (r *Resolver) Run(ctx context.Context) error {
	if r == nil {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(scanInterval / 5)
	defer tick.Stop()
	for {
		if err := r.Refresh(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// Refresh scans /proc if an inode is missing and the last scan is long enough ago (a second, or ten
// times the duration of that scan). Otherwise it returns at once. The first call scans everything.
func (r *Resolver) Refresh(ctx context.Context) error {
	if r == nil {
		return nil
	}
	if !r.scanMu.TryLock() {
		return nil // another goroutine is scanning
	}
	defer r.scanMu.Unlock()
	start := time.Now()
	if start.Before(r.nextScan) {
		return nil
	}
	missing := r.due(start)
	if r.ran && len(missing) == 0 {
		return nil
	}
	err := r.scan(ctx, missing)
	took := time.Since(start)
	r.nextScan = start.Add(max(scanInterval, scanShare*took))
	r.mu.Lock()
	r.stats.Scans++
	r.stats.LastScan = took
	r.mu.Unlock()
	return err
}

// due returns the inodes whose search is due, and forgets the inodes that are no longer requested.
func (r *Resolver) due(now time.Time) map[uint64]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	missing := make(map[uint64]bool)
	for inode, w := range r.wanted {
		switch {
		case now.Sub(w.asked) > forgetAfter:
			delete(r.wanted, inode)
		case !now.Before(w.next):
			missing[inode] = true
		}
	}
	return missing
}

func (r *Resolver) scan(ctx context.Context, missing map[uint64]bool) error {
	var err error
	r.pidList, err = r.dir.pids(r.pidList[:0])
	if err != nil {
		return err
	}
	mark := r.stats.Scans + 1
	everything := !r.ran
	found := map[uint64]Process{}
	var looked, unreadable int
	complete := true
	procs := r.pidList
	// New processes and processes that held sockets before most likely hold the missing sockets.
	for _, likely := range []bool{true, false} {
		for _, pid := range procs {
			p := r.known[pid]
			if (p == nil || len(p.sockets) > 0) != likely || (p != nil && p.mark == mark) {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if !everything && len(missing) == 0 {
				complete = false
				break
			}
			looked++
			if !r.look(pid, mark, missing, found) {
				unreadable++
			}
		}
	}
	r.bury(procs, mark)
	r.publish(found, missing, mark, complete)
	r.mu.Lock()
	r.stats.Processes = looked
	r.stats.Unreadable = unreadable
	r.mu.Unlock()
	r.ran = true
	return nil
}

// look reads the descriptors of one process and adds its sockets to found. It returns false when it
// may not.
func (r *Resolver) look(pid uint32, mark uint64, missing map[uint64]bool, found map[uint64]Process) bool {
	procfd, err := unix.Open(fmt.Sprintf("/proc/%d", pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return true // it has ended since the list was made
	}
	defer unix.Close(procfd)
	p := &process{started: startTime(procfd, r.statBuf[:]), mark: mark}
	r.known[pid] = p
	fd, err := unix.Openat(procfd, "fd", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH)
	}
	defer unix.Close(fd)
	readable := true
	err = r.dir.each(fd, func(name []byte) bool {
		n, err := readlinkat(fd, name, r.link[:])
		if errors.Is(err, unix.EACCES) || errors.Is(err, unix.EPERM) {
			readable = name[0] == '.'
			return readable
		}
		if inode, ok := socketInode(r.link[:n]); ok {
			p.sockets = append(p.sockets, inode)
		}
		return true
	})
	if err != nil && !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ESRCH) {
		return false
	}
	if len(p.sockets) == 0 {
		return readable
	}
	comm, err := Comm(pid)
	if err != nil {
		return true // it has ended meanwhile
	}
	for _, inode := range p.sockets {
		// byInode is written by the scanning goroutine only, which is this one.
		if _, taken := found[inode]; !taken || r.byInode[inode].PID == pid {
			found[inode] = Process{PID: pid, Comm: comm}
		}
		delete(missing, inode)
	}
	return readable
}

// socketInode reads the target of a descriptor's link, such as socket:[12345].
func socketInode(link []byte) (uint64, bool) {
	rest, ok := bytes.CutPrefix(link, []byte("socket:["))
	if !ok || len(rest) == 0 || rest[len(rest)-1] != ']' {
		return 0, false
	}
	return decimal(rest[:len(rest)-1])
}

// bury removes processes that have ended. A pid that is in use again was started at another time.
func (r *Resolver) bury(alive []uint32, mark uint64) {
	there := make(map[uint32]bool, len(alive))
	for _, pid := range alive {
		there[pid] = true
	}
	for pid, p := range r.known {
		if !there[pid] || (p.mark != mark && len(p.sockets) > 0 && !r.sameProcess(pid, p)) {
			delete(r.known, pid)
		}
	}
}

func (r *Resolver) sameProcess(pid uint32, p *process) bool {
	procfd, err := unix.Open(fmt.Sprintf("/proc/%d", pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(procfd)
	return startTime(procfd, r.statBuf[:]) == p.started
}

// publish makes the result of a scan visible to Lookup.
func (r *Resolver) publish(found map[uint64]Process, missing map[uint64]bool, mark uint64, complete bool) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	changed := false
	for inode, old := range r.byInode {
		switch p := r.known[old.PID]; {
		case p != nil && p.mark != mark:
			delete(found, inode) // alive and not looked at in this scan: it keeps its sockets
		case p == nil || found[inode].PID != old.PID:
			delete(r.byInode, inode) // ended, or looked at and without that socket
			changed = true
		}
	}
	for inode, p := range found {
		changed = changed || r.byInode[inode] != p
		r.byInode[inode] = p
		delete(r.wanted, inode)
	}
	for inode := range missing {
		if w, ok := r.wanted[inode]; ok && complete {
			w.next = now.Add(min(maxBackoff, scanInterval<<min(w.misses, 6)))
			w.misses = min(w.misses+1, 6)
			r.wanted[inode] = w
		}
	}
	if changed {
		r.generation++
	}
}
