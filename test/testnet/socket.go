package testnet

import (
	"io"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Control calls f with the socket of a connection.
func Control(c syscall.Conn, f func(fd int) error) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	if controlErr := raw.Control(func(fd uintptr) { err = f(int(fd)) }); controlErr != nil {
		return controlErr
	}
	return err
}

// A refused call of a socket fails the test.

// Info reads TCP_INFO of a connection.
func Info(tb testing.TB, c syscall.Conn) *unix.TCPInfo {
	tb.Helper()
	return ask(tb, c, func(fd int) (*unix.TCPInfo, error) {
		return unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	})
}

// Cookie reads the kernel's number of a socket.
func Cookie(tb testing.TB, c syscall.Conn) uint64 {
	tb.Helper()
	return ask(tb, c, func(fd int) (uint64, error) {
		return unix.GetsockoptUint64(fd, unix.SOL_SOCKET,
			unix.SO_COOKIE)
	})
}

// CongestionControl reads the name of a connection's.
func CongestionControl(tb testing.TB, c syscall.Conn) string {
	tb.Helper()
	return ask(tb, c, func(fd int) (string, error) {
		return unix.GetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION)
	})
}

// SetCongestionControl gives a connection another.
func SetCongestionControl(tb testing.TB, c syscall.Conn, name string) {
	tb.Helper()
	ask(tb, c, func(fd int) (struct{}, error) {
		return struct{}{}, unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, name)
	})
}

// Option reads an option that is a number.
func Option(tb testing.TB, c syscall.Conn, level, name int) int {
	tb.Helper()
	return ask(tb, c, func(fd int) (int, error) { return unix.GetsockoptInt(fd, level, name) })
}

// SetOption sets an option that is a number, as the socket's program does.
func SetOption(tb testing.TB, c syscall.Conn, level, name, value int) {
	tb.Helper()
	ask(tb, c, func(fd int) (struct{}, error) { return struct{}{}, unix.SetsockoptInt(fd, level, name, value) })
}

func ask[Answer any](tb testing.TB, c syscall.Conn, f func(fd int) (Answer, error)) (answer Answer) {
	tb.Helper()
	err := Control(c, func(fd int) (err error) {
		answer, err = f(fd)
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return answer
}

// MustSend is Send that fails the test.
func MustSend(tb testing.TB, from io.Writer, to io.Reader, n int64) {
	tb.Helper()
	if err := Send(from, to, n); err != nil {
		tb.Fatal(err)
	}
}
