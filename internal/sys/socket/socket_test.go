package socket

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/test/testnet"
)

func hello(_ context.Context, conn net.Conn) { _, _ = conn.Write([]byte("hello")) }

// asked returns the answer at a socket.
func asked(t *testing.T, path string) string {
	t.Helper()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	text, err := io.ReadAll(conn)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheSocketIsPrivateWithAnyUmask(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sock")
	before := unix.Umask(0)
	s, err := Serve(path, hello)
	unix.Umask(before)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if text := asked(t, path); text != "hello" {
		t.Errorf("answer %q", text)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("after its end: %v", err)
	}
}

// Other threads of the process may have taken the last descriptor.
func TestAnswersGoOnAfterDescriptorsWereExhausted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sock")
	s, err := Serve(path, hello)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	conn, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(conn)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &limit) }()
	// No descriptor is below 1, so accept fails with EMFILE.
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1, Max: limit.Max}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Connect(conn, &unix.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	testnet.Idle(t, 2*retryTime, "accept fails at least once, which nothing shows")
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 16)
	testnet.Eventually(t, time.Minute, "an answer", func() bool {
		n, err := unix.Read(conn, b)
		return err == nil && string(b[:n]) == "hello"
	})
	if text := asked(t, path); text != "hello" {
		t.Errorf("answer %q", text)
	}
}
