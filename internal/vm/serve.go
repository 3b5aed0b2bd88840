package vm

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	"airtide/internal/sys/clock"
)

// server executes the host's requests in the guest.
type server struct {
	to        *frameWriter
	functions map[string]Function

	mu      sync.Mutex
	running map[uint32]*os.Process
}

// serve answers requests until the host has closed the port.
func (s *server) serve(from io.Reader) error {
	for {
		f, err := readFrame(from)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("listening to the host: %w", err)
		}
		switch f.kind {
		case frameSignal:
			s.signal(f)
		case frameClock: // answer at once, before the time becomes old
			s.end(f.number, end{Ns: clock.Now()})
		default:
			go s.answer(f)
		}
	}
}

// end sends the last answer. It ignores a failure, which means that the host has closed the port.
func (s *server) end(number uint32, e end) { _ = s.to.writeJSON(frameEnd, number, e) }

func (s *server) answer(f frame) {
	var e end
	var err error
	switch f.kind {
	case frameRun:
		e, err = s.run(f)
	case frameRead:
		err = s.read(f)
	case frameMake:
		err = makeFile(f.body)
	case frameCall:
		e.Output, err = s.call(f.body)
	default:
		err = fmt.Errorf("a message of the unknown kind %q", f.kind)
	}
	if err != nil {
		e.Error = err.Error()
	}
	s.end(f.number, e)
}

func (s *server) run(f frame) (e end, err error) {
	var c Command
	if err := json.Unmarshal(f.body, &c); err != nil {
		return e, err
	}
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir = c.Dir
	cmd.Env = c.Env
	cmd.Stdout = output{s.to, frameStdout, f.number}
	cmd.Stderr = output{s.to, frameStderr, f.number}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: syscall.CLONE_NEWPID}
	s.mu.Lock() // a signal waits until the process can get it
	if err = cmd.Start(); err == nil {
		s.running[f.number] = cmd.Process
	}
	s.mu.Unlock()
	if err != nil {
		return e, err
	}
	if err := s.to.write(frameStarted, f.number, nil); err != nil {
		return e, err
	}
	err = cmd.Wait()
	s.mu.Lock()
	delete(s.running, f.number)
	s.mu.Unlock()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return e, err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.Signal = int(status.Signal())
	}
	e.Status = exit.ExitCode()
	return e, nil
}

func (s *server) signal(f frame) {
	var number int
	if json.Unmarshal(f.body, &number) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.running[f.number]; p != nil {
		_ = p.Signal(syscall.Signal(number)) // it may have ended
	}
}

func (s *server) read(f frame) error {
	var path string
	if err := json.Unmarshal(f.body, &path); err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	_, err = io.CopyBuffer(output{s.to, frameStdout, f.number}, struct{ io.Reader }{file}, make([]byte, 256<<10))
	return err
}

func makeFile(body []byte) error {
	var n newFile
	if err := json.Unmarshal(body, &n); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(n.Path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(n.Path, n.Data, 0o644); err != nil {
		return err
	}
	return os.Truncate(n.Path, n.Size)
}

func (s *server) call(body []byte) (json.RawMessage, error) {
	var c callOf
	if err := json.Unmarshal(body, &c); err != nil {
		return nil, err
	}
	f, ok := s.functions[c.Name]
	if !ok {
		return nil, fmt.Errorf("the guest has no function %s", c.Name)
	}
	out, err := f(c.Input)
	if err != nil {
		return nil, err
	}
	return json.Marshal(out)
}
