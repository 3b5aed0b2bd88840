package cause

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Port is the server's port.
const Port = 7000

// readBytes is the size of one read. A slow reader reads less at a time.
const readBytes = 64 << 10

// paces are the phases of the plan, or its only pace.
func (p *Plan) paces() []Pace {
	if len(p.Phases) > 0 {
		return p.Phases
	}
	pace := p.Pace
	pace.For = p.For
	return []Pace{pace}
}

// control sets the options of a socket before it connects or listens.
func (p *Plan) control(sends bool) func(string, string, syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		var err error
		if outer := c.Control(func(fd uintptr) { err = p.prepare(int(fd), sends) }); outer != nil {
			return outer
		}
		return err
	}
}

func (p *Plan) prepare(fd int, sends bool) error {
	set := func(level, name, value int) error {
		if value == 0 {
			return nil
		}
		return unix.SetsockoptInt(fd, level, name, value)
	}
	if !sends {
		return errors.Join(
			set(unix.SOL_SOCKET, unix.SO_RCVBUF, p.ReceiveBuffer),
			set(unix.IPPROTO_TCP, unix.TCP_WINDOW_CLAMP, p.WindowClamp),
		)
	}
	err := errors.Join(
		set(unix.SOL_SOCKET, unix.SO_SNDBUF, p.SendBuffer),
		set(unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, int(p.PacingBps/8)),
	)
	if p.Congestion != "" {
		err = errors.Join(err, unix.SetsockoptString(fd, unix.IPPROTO_TCP, unix.TCP_CONGESTION, p.Congestion))
	}
	return err
}

// Serve runs the server's end until it is killed. It prints "ready" when it listens.
func (p *Plan) Serve(out io.Writer) error {
	config := net.ListenConfig{Control: p.control(p.Down)}
	config.SetMultipathTCP(false)
	listener, err := config.Listen(context.Background(), "tcp4", fmt.Sprint(":", Port))
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "ready")
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			_ = p.play(conn.(*net.TCPConn), p.Down)
		}()
	}
}

// Drive runs the client's end until its traffic is over.
func (p *Plan) Drive(address string) error {
	end := time.Now().Add(p.For)
	if p.Connections > 0 {
		for range p.Connections {
			if err := p.short(address); err != nil {
				return err
			}
		}
		return nil
	}
	var group sync.WaitGroup
	failures := make(chan error, max(1, p.Parallel))
	for range max(1, p.Parallel) {
		conn, err := p.dial(address)
		if err != nil {
			return err
		}
		timer := time.AfterFunc(time.Until(end)+time.Second, func() { conn.Close() })
		group.Go(func() {
			failures <- p.play(conn, !p.Down)
			conn.Close()
			timer.Stop()
		})
	}
	group.Wait()
	err := <-failures
	if errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (p *Plan) dial(address string) (*net.TCPConn, error) {
	dialer := net.Dialer{Control: p.control(!p.Down)}
	dialer.SetMultipathTCP(false)
	conn, err := dialer.Dial("tcp", net.JoinHostPort(address, fmt.Sprint(Port)))
	if err != nil {
		return nil, err
	}
	return conn.(*net.TCPConn), nil
}

// short carries Size bytes over one connection and waits for its end.
func (p *Plan) short(address string) error {
	conn, err := p.dial(address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Write(make([]byte, p.Size)); err != nil {
		return err
	}
	if err := conn.CloseWrite(); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, conn)
	return err
}

// play is one end of one connection.
func (p *Plan) play(conn *net.TCPConn, sends bool) error {
	if p.Nagle {
		_ = conn.SetNoDelay(false)
	}
	if p.Cork && sends {
		if err := cork(conn); err != nil {
			return err
		}
	}
	switch {
	case len(p.Requests) > 0 && sends:
		return p.ask(conn)
	case len(p.Requests) > 0:
		return p.answer(conn)
	case sends:
		return p.write(conn)
	}
	return p.read(conn)
}

// write sends at the pace of each phase.
func (p *Plan) write(conn *net.TCPConn) error {
	for _, pace := range p.paces() {
		end := time.Now().Add(pace.For)
		_ = conn.SetWriteDeadline(end)
		next := time.Now()
		chunk := make([]byte, max(pace.WriteBytes, 1))
		for time.Now().Before(end) {
			if _, err := conn.Write(chunk); err != nil && !errors.Is(err, unix.EAGAIN) && !isTimeout(err) {
				return err
			}
			if pace.WriteBytes == 0 { // one byte shows that the connection lives
				time.Sleep(time.Until(end))
			}
			if pace.Every > 0 {
				next = next.Add(pace.Every)
				time.Sleep(time.Until(next))
			}
		}
	}
	return nil
}

// read takes data at the pace of each phase.
func (p *Plan) read(conn *net.TCPConn) error {
	buffer := make([]byte, readBytes)
	paces := p.paces()
	for i, pace := range paces {
		end := time.Now().Add(pace.For)
		for next := time.Now(); i == len(paces)-1 || time.Now().Before(end); {
			part := buffer
			if pace.ReadBps > 0 {
				part = buffer[:min(readBytes, max(512, int(pace.ReadBps/8/50)))]
			}
			n, err := conn.Read(part)
			if err != nil {
				return err
			}
			if pace.ReadBps > 0 {
				next = next.Add(time.Duration(float64(n) * 8 / float64(pace.ReadBps) * 1e9))
				time.Sleep(time.Until(next))
			}
		}
	}
	return nil
}

// ask sends requests and waits for each answer, Every apart at least.
func (p *Plan) ask(conn *net.TCPConn) error {
	answer := make([]byte, p.Answer)
	next := time.Now()
	for end := time.Now().Add(p.For); time.Now().Before(end); {
		for _, n := range p.Requests {
			if _, err := conn.Write(make([]byte, n)); err != nil {
				return err
			}
		}
		if _, err := io.ReadFull(conn, answer); err != nil {
			return err
		}
		next = next.Add(p.Every)
		time.Sleep(time.Until(next))
	}
	return nil
}

// answer answers each row of requests.
func (p *Plan) answer(conn *net.TCPConn) error {
	total := 0
	for _, n := range p.Requests {
		total += n
	}
	request := make([]byte, total)
	for {
		if _, err := io.ReadFull(conn, request); err != nil {
			return err
		}
		if _, err := conn.Write(make([]byte, p.Answer)); err != nil {
			return err
		}
	}
}

// cork holds back parts of a segment, 200 ms at most.
func cork(conn *net.TCPConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var set error
	err = raw.Control(func(fd uintptr) { set = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_CORK, 1) })
	return errors.Join(err, set)
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
