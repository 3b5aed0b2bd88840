// Package live connects a running cell with other processes on this machine. Serve answers on a
// socket; Find and Ask are the other side.
package live

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/cell"
	"airtide/internal/sys/leftover"
)

// folder has a socket for each running cell: cell-PID-NUMBER.sock.
var folder = "/run/airtide"

// ID names a running cell on this machine.
type ID struct {
	PID    int `json:"pid"`    // of the process that runs it
	Number int `json:"number"` // counts the cells of that process, from 1
}

// Report is a cell's answer: its process, hosts and status.
type Report struct {
	Name string `json:"name"`
	ID
	Hosts  []cell.Host  `json:"hosts"`
	Status *cell.Status `json:"status"`
}

// Seen is a cell over the time between two reports.
type Seen struct {
	Name string `json:"name"`
	ID
	Hosts  []cell.Host        `json:"hosts"`
	Window *cell.Window       `json:"window"`
	Engine *cell.EngineStatus `json:"engine"`
}

// Between returns the activity from one report to a later report of the same cell.
func Between(from, to *Report) *Seen {
	return &Seen{to.Name, to.ID, to.Hosts, cell.Between(from.Status, to.Status), to.Status.Engine}
}

// Server answers for one cell.
type Server struct {
	listener net.Listener
	wait     sync.WaitGroup
}

// served counts the cells that this process has served.
var served atomic.Int64

// Serve answers whoever asks how a cell is doing, until Close. A process may serve several cells.
func Serve(name string, c *cell.Cell) (*Server, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder for the cell's socket: %w", err)
	}
	if _, err := Find(); err != nil { // removes what is left of cells that were killed
		return nil, err
	}
	id := ID{os.Getpid(), int(served.Add(1))}
	path := socket(id)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("removing the socket of an ended process: %w", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("opening the cell's socket: %w", err)
	}
	s := &Server{listener: l}
	s.wait.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.wait.Go(func() { answer(conn, name, id, c) })
		}
	})
	return s, nil
}

// patience is how long the other side may take.
const patience = 5 * time.Second

func answer(conn net.Conn, name string, id ID, c *cell.Cell) {
	defer conn.Close()
	status, err := c.Status()
	if err != nil {
		return // the cell has ended, and with it the answers
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	_ = json.NewEncoder(conn).Encode(Report{name, id, c.Hosts(), status})
}

// Close ends the answers and removes the socket.
func (s *Server) Close() error {
	err := s.listener.Close()
	s.wait.Wait()
	return err
}

func socket(id ID) string {
	return filepath.Join(folder, fmt.Sprintf("cell-%d-%d.sock", id.PID, id.Number))
}

// Find returns the running cells, in order. It removes the sockets of ended processes.
func Find() ([]ID, error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("looking for cells: %w", err)
	}
	var ids []ID
	for _, e := range entries {
		var id ID
		if _, err := fmt.Sscanf(e.Name(), "cell-%d-%d.sock", &id.PID, &id.Number); err != nil ||
			filepath.Join(folder, e.Name()) != socket(id) {
			continue
		}
		if leftover.Ended(id.PID) && !answers(id) {
			_ = os.Remove(socket(id))
			continue
		}
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b ID) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.Number, b.Number))
	})
	return ids, nil
}

// answers reports whether a process listens at the socket of a cell: in another PID namespace it
// has another id.
func answers(id ID) bool {
	conn, err := net.DialTimeout("unix", socket(id), patience)
	if err != nil {
		return !errors.Is(err, unix.ECONNREFUSED)
	}
	_ = conn.Close()
	return true
}

// Ask asks a running cell.
func Ask(id ID) (*Report, error) {
	conn, err := net.DialTimeout("unix", socket(id), patience)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ECONNREFUSED):
		return nil, fmt.Errorf("process %d runs no cell %d", id.PID, id.Number)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("asking the cell of process %d: %w; ask as the user who runs it", id.PID, err)
	case err != nil:
		return nil, fmt.Errorf("asking the cell of process %d: %w", id.PID, err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	r := &Report{}
	if err := json.NewDecoder(conn).Decode(r); err != nil {
		return nil, fmt.Errorf("the cell of process %d has ended or does not answer: %w", id.PID, err)
	}
	return r, nil
}
