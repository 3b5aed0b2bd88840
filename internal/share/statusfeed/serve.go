package statusfeed

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"time"

	"airtide/internal/kernel/sockets/owner"
	"airtide/internal/share"
	"airtide/internal/share/cellkey"
)

// Report is an agent's answer: its name, network namespace and status.
type Report struct {
	Agent string `json:"agent"` // its name among all on this machine
	NetNS uint32 `json:"network_namespace"`
	share.Status
}

// Server answers for one agent.
type Server struct {
	name     string
	netns    uint32
	tap      *Feed
	listener *net.UnixListener
	stop     context.CancelFunc
	wait     sync.WaitGroup
}

const (
	// answerTimeout is the time limit for an agent's next status, and for a reader of the answer.
	answerTimeout = time.Second
	// mostAtOnce are answered at the same time; others wait.
	mostAtOnce = 8
)

// Serve answers whoever asks how the agent of a cell is doing, until Close. Only the user of this
// process, and root, may ask. The context ends only a wait for other agents that start or end.
func Serve(ctx context.Context, cell cellkey.Tag, tap *Feed) (*Server, error) {
	s, err := serve(ctx, cell, tap)
	if err != nil {
		return nil, fmt.Errorf("opening the socket for airtide share status: %w", err)
	}
	return s, nil
}

func serve(ctx context.Context, cell cellkey.Tag, tap *Feed) (*Server, error) {
	netns, err := owner.SelfNetNS()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	unlock, err := lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	others, err := find() // removes what is left of those that were killed
	if err != nil {
		return nil, err
	}
	leave(others)
	s := &Server{name: fmt.Sprintf("%d-%s-%08x", netns, cell, rand.Uint32()), netns: netns, tap: tap}
	s.listener, err = net.ListenUnix("unix", &net.UnixAddr{Name: path(s.name), Net: "unix"})
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path(s.name), 0o600); err != nil {
		return nil, errors.Join(err, s.listener.Close())
	}
	running, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.wait.Go(func() { s.accept(running) })
	return s, nil
}

func (s *Server) accept(ctx context.Context) {
	places := make(chan struct{}, mostAtOnce)
	for {
		conn, err := s.listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // no descriptors left, say
			select {
			case <-time.After(answerTimeout):
				continue
			case <-ctx.Done():
				return
			}
		}
		places <- struct{}{}
		s.wait.Go(func() {
			defer func() { <-places }()
			s.answer(ctx, conn)
		})
	}
}

// answer writes the next status. A stalled agent gives no answer.
func (s *Server) answer(ctx context.Context, conn *net.UnixConn) {
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	var text []byte
	err := s.tap.Next(ctx, func(status share.Status) {
		// A status that JSON cannot encode, such as NaN, gives no answer.
		text, _ = json.Marshal(Report{s.name, s.netns, status})
	})
	if err != nil || text == nil {
		return
	}
	_ = conn.SetWriteDeadline(time.Now().Add(answerTimeout))
	_, _ = conn.Write(append(text, '\n'))
}

// Close ends the answers and removes the socket.
func (s *Server) Close() error {
	err := s.listener.Close()
	s.stop()
	s.wait.Wait()
	return err
}
