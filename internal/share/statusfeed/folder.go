package statusfeed

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	syslock "airtide/internal/sys/lock"
)

// folder has a socket for each running agent.
var folder = "/run/airtide/share"

const (
	suffix   = ".sock"
	lockFile = "lock"
)

// lock prevents other processes from creating or removing sockets until unlock. During its creation
// a socket looks like that of a dead process. The kernel releases the lock when the process ends.
func lock(ctx context.Context) (unlock func(), err error) {
	f, err := syslock.Wait(ctx, filepath.Join(folder, lockFile), syslock.Moment)
	if err != nil {
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

// found is an agent's socket, connected or not.
type found struct {
	name string
	conn net.Conn // an answer comes without a question
	err  error    // why there is no connection
}

// find connects to all agents and removes sockets without a listener. Call it under the lock.
func find() (all []found, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name, isSocket := strings.CutSuffix(e.Name(), suffix)
		if !isSocket {
			continue
		}
		conn, err := net.Dial("unix", path(name))
		if !errors.Is(err, unix.ECONNREFUSED) {
			all = append(all, found{name, conn, err})
			continue
		}
		if err := os.Remove(path(name)); err != nil {
			closeAll(all)
			return nil, fmt.Errorf("removing the socket of an agent that was killed: %w", err)
		}
	}
	return all, nil
}

// closeAll closes the connections.
func closeAll(all []found) {
	for _, f := range all {
		if f.conn != nil {
			_ = f.conn.Close()
		}
	}
}

func path(name string) string { return filepath.Join(folder, name+suffix) }
