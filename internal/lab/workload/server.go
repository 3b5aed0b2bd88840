package workload

import (
	"bufio"
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"airtide/internal/lab/machine"
	"airtide/internal/lab/plan"
)

// server is a program that answers the clients.
type server struct {
	name    string // the program's
	on      *machine.Namespace
	ports   []uint16 // TCP
	process *machine.Process
	output  *os.File
	// answers checks a listening server, if it is not nil.
	answers func() error
}

// startServers starts an iperf3 for each iperf3 flow, because it serves one client at a time, and
// an httpd for each machine that needs it.
func (s *Session) startServers() error {
	for _, f := range s.flows {
		switch f.Flow.Protocol {
		case plan.Ping:
			continue
		case plan.TCP, plan.UDP:
			if err := s.startIperf(f); err != nil {
				return err
			}
			continue
		}
		at := slices.IndexFunc(s.servers, func(o *server) bool { return o.name == httpdName && o.on == f.to })
		if at >= 0 {
			f.server = s.servers[at]
			continue
		}
		var served []*flow
		for _, o := range s.flows {
			if o.to == f.to && clients[o.Flow.Protocol].Package == machine.Curl.Package {
				served = append(served, o)
			}
		}
		if err := s.startHTTPD(f.to, served); err != nil {
			return err
		}
		f.server = s.servers[len(s.servers)-1]
	}
	return nil
}

// serve starts a server's program. All its output goes to one file.
func (s *Session) serve(o *server, path string, args []string, file string) error {
	taken := map[uint16]bool{}
	err := machine.In(o.on.Namespace, func() error { return listeners(taken) })
	if err != nil {
		return err
	}
	for _, port := range o.ports {
		if taken[port] {
			return fmt.Errorf("%s cannot have port %d: another program listens on it", o, port)
		}
	}
	o.output, err = s.create(file)
	if err != nil {
		return err
	}
	o.process, err = o.on.Start(machine.Command{Path: path, Args: args, Dir: "/", Stdout: o.output, Stderr: o.output})
	if err != nil {
		o.output.Close()
		return err
	}
	s.servers = append(s.servers, o)
	return nil
}

// lastWords returns the end of a server and its last lines, for a message.
func (o *server) lastWords() string {
	how := "it ended"
	if err := o.process.Err(); err != nil {
		how = err.Error()
	}
	if tail := machine.Tail(o.output.Name()); tail != "" {
		return how + ": " + tail
	}
	return how
}

func (o *server) String() string {
	return fmt.Sprintf("%s on %s (%s)", o.name, o.on.Name(), o.on.Address())
}

// listenPoll is the time between checks of a starting server. The kernel sends no notification when
// a socket begins to listen.
const listenPoll = 2 * time.Millisecond

// ready waits until the server listens on all of its ports.
func (o *server) ready(ctx context.Context, limit time.Duration) error {
	timeout := time.NewTimer(limit)
	defer timeout.Stop()
	poll := time.NewTicker(listenPoll)
	defer poll.Stop()
	for {
		listening := map[uint16]bool{}
		if err := machine.In(o.on.Namespace, func() error { return listeners(listening) }); err != nil {
			return err
		}
		missing := slices.IndexFunc(o.ports, func(p uint16) bool { return !listening[p] })
		if missing < 0 {
			break
		}
		select {
		case <-poll.C:
		case <-o.process.Done():
			return fmt.Errorf("%s did not start: %s", o, o.lastWords())
		case <-timeout.C:
			return fmt.Errorf("%s does not listen on port %d after %s; it says: %q",
				o, o.ports[missing], limit, machine.Tail(o.output.Name()))
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s to start: %w", o, ctx.Err())
		}
	}
	if o.answers != nil {
		if err := o.answers(); err != nil {
			return fmt.Errorf("%s does not answer: %w; it says: %q", o, err, machine.Tail(o.output.Name()))
		}
	}
	return nil
}

// tcpListen is TCP_LISTEN as /proc/net/tcp writes it.
const tcpListen = "0A"

// listeners collects the listening TCP ports in the namespace of the calling thread.
func listeners(ports map[uint16]bool) error {
	for _, name := range []string{"tcp", "tcp6"} {
		f, err := os.Open("/proc/thread-self/net/" + name)
		if os.IsNotExist(err) {
			continue // a kernel without IPv6
		}
		if err != nil {
			return fmt.Errorf("reading the open ports: %w", err)
		}
		defer f.Close()
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			fields := strings.Fields(lines.Text())
			if len(fields) < 4 || fields[3] != tcpListen {
				continue
			}
			_, hex, _ := strings.Cut(fields[1], ":")
			if port, err := strconv.ParseUint(hex, 16, 16); err == nil {
				ports[uint16(port)] = true
			}
		}
		if err := lines.Err(); err != nil {
			return fmt.Errorf("reading the open ports: %w", err)
		}
	}
	return nil
}

// hostPort returns an address and port in the form of a URL.
func hostPort(a netip.Addr, port uint16) string { return netip.AddrPortFrom(a, port).String() }
