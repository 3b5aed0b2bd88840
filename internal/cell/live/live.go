// Package live connects a running cell with other processes on this machine. Serve answers on a
// socket; Find and Ask are the other side.
package live

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/cell"
	"airtide/internal/sys/leftover"
	"airtide/internal/sys/socket"
)

// folder has a socket for each running cell: cell-PID-NUMBER.sock.
// Only the user of the cells may enter it.
var folder = "/run/airtide/cell"

// ID names a running cell on this machine.
type ID struct {
	PID    int `json:"pid"`    // process that runs the cell
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

// served counts the cells that this process has served.
var served atomic.Int64

// Serve sends the status of a cell to each client, until Close. A process may serve several cells.
func Serve(name string, c *cell.Cell) (*socket.Server, error) {
	if err := makeFolder(); err != nil {
		return nil, fmt.Errorf("making the folder for the cell's socket: %w", err)
	}
	if _, err := Find(); err != nil { // removes the remains of killed cells
		return nil, err
	}
	id := ID{os.Getpid(), int(served.Add(1))}
	path := socketOf(id)
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("removing the socket of an ended process: %w", err)
	}
	s, err := socket.Serve(path, func(_ context.Context, conn net.Conn) { answer(conn, name, id, c) })
	if err != nil {
		return nil, fmt.Errorf("opening the cell's socket: %w", err)
	}
	return s, nil
}

// makeFolder makes the folder private. The umask does not matter.
func makeFolder() error {
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return os.Chmod(folder, 0o700)
}

// patience is the longest wait for the other side.
const patience = 5 * time.Second

// answer sends a report at once, and one more for each byte that comes within the patience.
func answer(conn net.Conn, name string, id ID, c *cell.Cell) {
	out := json.NewEncoder(conn)
	var question [1]byte
	for {
		status, err := c.Status()
		if err != nil {
			return // the cell has ended, and with it the answers
		}
		_ = conn.SetDeadline(time.Now().Add(patience))
		if out.Encode(Report{name, id, c.Hosts(), status}) != nil {
			return
		}
		if _, err := conn.Read(question[:]); err != nil {
			return
		}
	}
}

func socketOf(id ID) string {
	return filepath.Join(folder, fmt.Sprintf("cell-%d-%d.sock", id.PID, id.Number))
}

// Find returns the running cells, in order. It removes the sockets of ended processes.
func Find() ([]ID, error) {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, os.ErrPermission) {
		return nil, fmt.Errorf("looking for cells: %w; ask as the user who runs them", err)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("looking for cells: %w", err)
	}
	var ids []ID
	for _, e := range entries {
		var id ID
		if _, err := fmt.Sscanf(e.Name(), "cell-%d-%d.sock", &id.PID, &id.Number); err != nil ||
			filepath.Join(folder, e.Name()) != socketOf(id) {
			continue
		}
		if leftover.Ended(id.PID) && !answers(id) {
			_ = os.Remove(socketOf(id))
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
	conn, err := net.DialTimeout("unix", socketOf(id), patience)
	if err != nil {
		return !errors.Is(err, unix.ECONNREFUSED)
	}
	_ = conn.Close()
	return true
}

// Ask asks a running cell.
func Ask(id ID) (*Report, error) {
	c, err := Dial(id)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Ask()
}

// Conn is a connection to a running cell. It lasts if it is used every few seconds.
type Conn struct {
	id      ID
	conn    net.Conn
	answers *json.Decoder
	asked   bool
}

// Dial connects to a running cell.
func Dial(id ID) (*Conn, error) {
	conn, err := net.DialTimeout("unix", socketOf(id), patience)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, unix.ECONNREFUSED):
		return nil, fmt.Errorf("process %d runs no cell %d", id.PID, id.Number)
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("asking the cell of process %d: %w; ask as the user who runs it", id.PID, err)
	case err != nil:
		return nil, fmt.Errorf("asking the cell of process %d: %w", id.PID, err)
	}
	return &Conn{id: id, conn: conn, answers: json.NewDecoder(conn)}, nil
}

// Ask returns the present report.
func (c *Conn) Ask() (*Report, error) {
	_ = c.conn.SetDeadline(time.Now().Add(patience))
	r := &Report{}
	var err error
	if c.asked { // the first report comes without a question
		_, err = c.conn.Write([]byte{'\n'})
	}
	c.asked = true
	if err == nil {
		err = c.answers.Decode(r)
	}
	if err != nil {
		return nil, fmt.Errorf("the cell of process %d has ended or does not answer: %w", c.id.PID, err)
	}
	return r, nil
}

// Close closes the connection.
func (c *Conn) Close() error { return c.conn.Close() }
