// Package socket answers other processes of this machine on a socket in the file system.
package socket

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// mostAtOnce connections are answered at the same time; others wait.
	mostAtOnce = 8
	// retryTime is the time after an error of accept, such as no free descriptor, until the next
	// try. Connections wait meanwhile.
	retryTime = 100 * time.Millisecond
)

// Server answers connections.
type Server struct {
	listener net.Listener
	stop     context.CancelFunc
	wait     sync.WaitGroup
}

// Serve calls answer for each connection to the path, until Close ends its context. Only the user
// of this process, and root, may connect. answer must limit its time; the connection is closed
// after it.
func Serve(path string, answer func(ctx context.Context, conn net.Conn)) (*Server, error) {
	ctx, stop := context.WithCancel(context.Background())
	// The mode of the socket before bind becomes that of the file. After bind would be too late:
	// with umask 0 another user could connect in between.
	private := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		controlErr := raw.Control(func(fd uintptr) { err = unix.Fchmod(int(fd), 0o600) })
		return errors.Join(err, controlErr)
	}}
	l, err := private.Listen(ctx, "unix", path)
	if err != nil {
		stop()
		return nil, err
	}
	s := &Server{listener: l, stop: stop}
	s.wait.Go(func() { s.accept(ctx, answer) })
	return s, nil
}

// accept goes on after every error but the end of the listener.
func (s *Server) accept(ctx context.Context, answer func(context.Context, net.Conn)) {
	places := make(chan struct{}, mostAtOnce)
	for {
		conn, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			select {
			case <-time.After(retryTime):
				continue
			case <-ctx.Done():
				return
			}
		}
		places <- struct{}{}
		s.wait.Go(func() {
			defer func() { <-places }()
			defer conn.Close()
			answer(ctx, conn)
		})
	}
}

// Close ends the answers and removes the socket.
func (s *Server) Close() error {
	err := s.listener.Close()
	s.stop()
	s.wait.Wait()
	return err
}
