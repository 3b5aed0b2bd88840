package statusfeed

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"time"

	"airtide/internal/kernel/sockets/owner"
	"airtide/internal/share"
	"airtide/internal/share/cellkey"
	"airtide/internal/sys/socket"
)

// Report is an agent's answer: its name, network namespace and status.
type Report struct {
	Agent string `json:"agent"` // its name among all on this machine
	NetNS uint32 `json:"network_namespace"`
	share.Status
}

// Server answers for one agent.
type Server struct {
	name   string
	netns  uint32
	tap    *Feed
	socket *socket.Server
}

// answerTimeout is the time limit for an agent's next status, and for a reader of the answer.
const answerTimeout = time.Second

// Serve sends the status of a cell's agent to each client, until Close. Only the user of this
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
	others, err := find() // removes the remains of killed agents
	if err != nil {
		return nil, err
	}
	closeAll(others)
	s := &Server{name: fmt.Sprintf("%d-%s-%08x", netns, cell, rand.Uint32()), netns: netns, tap: tap}
	s.socket, err = socket.Serve(path(s.name), s.answer)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// answer writes the next status. A stalled agent gives no answer.
func (s *Server) answer(ctx context.Context, conn net.Conn) {
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
func (s *Server) Close() error { return s.socket.Close() }
