// Package live connects a running cell with other processes on this machine. Serve answers on a
// socket; Find and Ask are the other side.
package live

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/cell"
)

// folder has a socket for each running cell, cell-PID.sock with the process that runs it.
var folder = "/run/airtide"

const (
	prefix = "cell-"
	suffix = ".sock"
)

// Report is a cell's answer: its process, hosts and status.
type Report struct {
	Name   string       `json:"name"`
	PID    int          `json:"pid"` // of the process that runs it
	Hosts  []cell.Host  `json:"hosts"`
	Status *cell.Status `json:"status"`
}

// Seen is a cell over the time between two reports.
type Seen struct {
	Name   string             `json:"name"`
	PID    int                `json:"pid"`
	Hosts  []cell.Host        `json:"hosts"`
	Window *cell.Window       `json:"window"`
	Engine *cell.EngineStatus `json:"engine"`
}

// Between returns the activity from one report to a later report of the same cell.
func Between(from, to *Report) *Seen {
	return &Seen{to.Name, to.PID, to.Hosts, cell.Between(from.Status, to.Status), to.Status.Engine}
}

// Server answers for one cell.
type Server struct {
	listener net.Listener
	wait     sync.WaitGroup
}

// Serve answers whoever asks how a cell is doing, until Close.
func Serve(name string, c *cell.Cell) (*Server, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder for the cell's socket: %w", err)
	}
	if _, err := Find(); err != nil { // removes what is left of cells that were killed
		return nil, err
	}
	path := socket(os.Getpid())
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
			s.wait.Go(func() { answer(conn, name, c) })
		}
	})
	return s, nil
}

// patience is how long the other side may take.
const patience = 5 * time.Second

func answer(conn net.Conn, name string, c *cell.Cell) {
	defer conn.Close()
	status, err := c.Status()
	if err != nil {
		return // the cell has ended, and with it the answers
	}
	_ = conn.SetDeadline(time.Now().Add(patience))
	_ = json.NewEncoder(conn).Encode(Report{name, os.Getpid(), c.Hosts(), status})
}

// Close ends the answers and removes the socket.
func (s *Server) Close() error {
	err := s.listener.Close()
	s.wait.Wait()
	return err
}

func socket(pid int) string { return filepath.Join(folder, prefix+strconv.Itoa(pid)+suffix) }

// Find returns the PIDs of the processes that run cells. It removes the sockets of ended processes.
func Find() ([]int, error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("looking for cells: %w", err)
	}
	var pids []int
	for _, e := range entries {
		number, isPrefixed := strings.CutPrefix(e.Name(), prefix)
		number, isSocket := strings.CutSuffix(number, suffix)
		pid, err := strconv.Atoi(number)
		if !isPrefixed || !isSocket || err != nil {
			continue
		}
		if errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
			_ = os.Remove(socket(pid))
			continue
		}
		pids = append(pids, pid)
	}
	slices.Sort(pids)
	return pids, nil
}

// Ask asks the cell that a process runs.
func Ask(pid int) (*Report, error) {
	conn, err := net.DialTimeout("unix", socket(pid), patience)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ECONNREFUSED):
		return nil, fmt.Errorf("process %d runs no cell", pid)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("asking the cell of process %d: %w; ask as the user who runs it", pid, err)
	case err != nil:
		return nil, fmt.Errorf("asking the cell of process %d: %w", pid, err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	r := &Report{}
	if err := json.NewDecoder(conn).Decode(r); err != nil {
		return nil, fmt.Errorf("the cell of process %d has ended or does not answer: %w", pid, err)
	}
	return r, nil
}
