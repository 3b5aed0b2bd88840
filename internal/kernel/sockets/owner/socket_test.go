package owner

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// childEnv tells this test binary that it was started by one of its own tests.
const childEnv = "OWNER_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "":
		os.Exit(m.Run())
	case "listen":
		listenAsChild()
	case "scan":
		scanAsChild()
	}
}

func waitForParent() {
	_, _ = bufio.NewReader(os.Stdin).ReadByte()
	os.Exit(0)
}

func listenAsChild() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(inodeOf(l.(*net.TCPListener)))
	waitForParent()
}

func scanAsChild() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	r := NewResolver()
	err = r.Refresh(context.Background())
	_, own := r.Lookup(inodeOf(l.(*net.TCPListener)))
	fmt.Println(err, own, r.Stats().Unreadable > 0)
	waitForParent()
}

func inodeOf(c syscall.Conn) uint64 {
	raw, err := c.SyscallConn()
	if err != nil {
		panic(err)
	}
	var st syscall.Stat_t
	if err := raw.Control(func(fd uintptr) { err = syscall.Fstat(int(fd), &st) }); err != nil {
		panic(err)
	}
	return st.Ino
}

func listen(t *testing.T) *net.TCPListener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.(*net.TCPListener)
}

// rescan lets the next Refresh scan at once.
func (r *Resolver) rescan() { r.nextScan = time.Time{} }

func refresh(t *testing.T, r *Resolver) {
	t.Helper()
	r.rescan()
	if err := r.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func TestLookupDoesNotScanAndAsksForTheNextScan(t *testing.T) {
	r := NewResolver()
	refresh(t, r)
	refresh(t, r)
	if n := r.Stats().Scans; n != 1 {
		t.Errorf("%d scans although nothing was asked for, want 1", n)
	}
	l := listen(t)
	inode := inodeOf(l)
	before := r.Generation()
	if _, ok := r.Lookup(inode); ok {
		t.Fatal("a socket made after the scan is known")
	}
	refresh(t, r)
	if p, ok := r.Lookup(inode); !ok || p.PID != uint32(os.Getpid()) {
		t.Errorf("after refresh: %v, %v", p, ok)
	}
	if r.Generation() == before {
		t.Error("generation did not grow with the new owner")
	}
}

func TestRefreshScansAtMostOnceASecond(t *testing.T) {
	r := NewResolver()
	start := time.Now()
	for range 1000 {
		r.Lookup(1<<40 + uint64(r.Stats().Scans)) // never to be found
		if err := r.Refresh(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if n, most := r.Stats().Scans, uint64(time.Since(start)/time.Second)+1; n > most {
		t.Errorf("%d scans in %v", n, time.Since(start))
	}
}

func TestSearchForAnUnknownInodeBacksOff(t *testing.T) {
	r := NewResolver()
	refresh(t, r)
	const nobody = 1 << 40
	for range 5 {
		r.Lookup(nobody)
		refresh(t, r)
	}
	if n := r.Stats().Scans; n != 2 {
		t.Errorf("%d scans, want 2: the first, and one in vain", n)
	}
	r.mu.RLock()
	w := r.wanted[nobody]
	r.mu.RUnlock()
	if w.misses != 1 || time.Until(w.next) > scanInterval {
		t.Errorf("after one miss: %+v", w)
	}
}

func TestRefreshEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := NewResolver().Refresh(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := NewResolver().Run(ctx); err != nil {
		t.Errorf("Run: %v", err)
	}
}

func TestSocketInodeReadsOnlySocketLinks(t *testing.T) {
	for link, want := range map[string]uint64{
		"socket:[12345]": 12345, "socket:[4294967296]": 1 << 32,
		"socket:[]": 0, "socket:[12": 0, "socket:[x]": 0, "pipe:[12345]": 0, "/tmp/socket:[1]": 0, "": 0,
	} {
		if got, ok := socketInode([]byte(link)); got != want || ok != (want != 0) {
			t.Errorf("%q: got %d, %v", link, got, ok)
		}
	}
}

// BenchmarkScan10000Sockets measures a full scan with 10 000 sockets in this process.
func BenchmarkScan10000Sockets(b *testing.B) {
	for range 10_000 {
		fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
		if err != nil {
			b.Fatal(err)
		}
		defer syscall.Close(fd)
	}
	r := NewResolver()
	b.ReportAllocs()
	for b.Loop() {
		r.ran = false
		r.rescan()
		if err := r.Refresh(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
}
