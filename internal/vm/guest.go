package vm

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"syscall"
	"time"

	"airtide/internal/sys/clock"
)

// Guest is a virtual machine that runs.
type Guest struct {
	Hello
	// Accelerator is the accelerator in use.
	Accelerator Accelerator
	// Booted is the time from the start of qemu until the guest was ready.
	Booted time.Duration

	qemu *qemu
	to   *frameWriter

	mu     sync.Mutex
	number uint32
	asked  map[uint32]*request // nil once the guest has ended
	why    error
}

// request is an open request to the guest.
type request struct {
	stdout, stderr io.Writer // may be nil
	started        chan struct{}
	done           chan struct{}
	end            end
	err            error // the guest has ended before
}

// bootLimit limits the boot of a guest. It is long, because qemu may get little processor time.
const bootLimit = 5 * time.Minute

// Start boots a guest and waits until it is ready. The guest ends with Close, and with this
// process. ctx limits only the boot.
func Start(ctx context.Context, c Config) (*Guest, error) {
	fail := func(err error) (*Guest, error) { return nil, fmt.Errorf("starting a virtual machine: %w", err) }
	if err := c.check(); err != nil {
		return fail(err)
	}
	if err := AvailableFor(c.Kernel.architecture()); err != nil {
		return fail(err)
	}
	image, err := c.image(ctx)
	if err != nil {
		return fail(err)
	}
	defer image.Close()
	boot := func(a Accelerator, limit time.Duration) (*Guest, error) {
		q, err := c.launch(a, image)
		if err != nil {
			return nil, err
		}
		g, err := greet(ctx, q, limit)
		if g != nil {
			g.Accelerator = a
		}
		return g, err
	}
	a := c.Accelerator
	if a == "" && c.Kernel.architecture() != runtime.GOARCH {
		a = TCG
	}
	if a == "" {
		a = TCG
		works, known := kvmVerdict()
		if works && known {
			a = KVM
		}
		if !known {
			g, err := boot(KVM, kvmTrial)
			if err == nil || ctx.Err() == nil {
				rememberKVM(err == nil)
			}
			if err == nil {
				return g, nil
			}
		}
	}
	g, err := boot(a, bootLimit)
	if err != nil {
		return fail(err)
	}
	return g, nil
}

// greet waits until a guest is ready.
func greet(ctx context.Context, q *qemu, limit time.Duration) (*Guest, error) {
	began := time.Now()
	g := &Guest{qemu: q, to: &frameWriter{to: q.control}, asked: map[uint32]*request{}}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it is not ready after %s", limit))
	defer cancel()
	from := bufio.NewReaderSize(q.control, 64<<10)
	greeted := make(chan error, 1)
	go func() {
		f, err := readFrame(from)
		if err == nil && f.kind != frameHello {
			err = fmt.Errorf("its first message is of kind %q, which is not the expected one", f.kind)
		}
		if err == nil {
			err = json.Unmarshal(f.body, &g.Hello)
		}
		greeted <- err
	}()
	var err error
	select {
	case err = <-greeted:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		q.kill()
		if said := q.console.tail(); said != "" {
			err = fmt.Errorf("%w; its last output: %s", err, said)
		}
		return nil, err
	}
	g.Booted = time.Since(began)
	go g.listen(from)
	return g, nil
}

// listen distributes the guest's answers until the guest ends.
func (g *Guest) listen(from io.Reader) {
	for {
		f, err := readFrame(from)
		if err != nil {
			g.lost(err)
			return
		}
		g.mu.Lock()
		r := g.asked[f.number]
		g.mu.Unlock()
		if r != nil && r.answer(f) {
			g.mu.Lock()
			delete(g.asked, f.number)
			g.mu.Unlock()
			close(r.done)
		}
	}
}

// answer processes one answer and reports whether it was the last.
func (r *request) answer(f frame) bool {
	switch f.kind {
	case frameStarted:
		close(r.started)
	case frameStdout:
		if r.stdout != nil {
			_, r.err = r.stdout.Write(f.body)
		}
	case frameStderr:
		if r.stderr != nil {
			_, r.err = r.stderr.Write(f.body)
		}
	case frameEnd:
		r.err = errors.Join(r.err, json.Unmarshal(f.body, &r.end))
		return true
	}
	return false
}

// lost ends all open requests, because the guest has ended or sent an invalid message.
func (g *Guest) lost(err error) {
	g.mu.Lock()
	asked := g.asked
	g.asked = nil
	closing := g.why != nil
	g.mu.Unlock()
	if !closing {
		_ = g.qemu.command.Process.Kill()
		why := g.qemu.why()
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, syscall.ECONNRESET) {
			why = fmt.Errorf("%w (%w)", why, err)
		}
		g.mu.Lock()
		g.why = why
		g.mu.Unlock()
	}
	for _, r := range asked {
		r.err = g.ended()
		close(r.done)
	}
}

func (g *Guest) ended() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.why
}

// ask sends a request.
func (g *Guest) ask(k kind, body any, stdout, stderr io.Writer) (*request, uint32, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, 0, err
	}
	r := &request{stdout: stdout, stderr: stderr, started: make(chan struct{}), done: make(chan struct{})}
	g.mu.Lock()
	if g.asked == nil || g.why != nil {
		g.mu.Unlock()
		<-g.qemu.ended
		return nil, 0, g.ended()
	}
	g.number++
	number := g.number
	g.asked[number] = r
	g.mu.Unlock()
	if err := g.to.write(k, number, text); err != nil {
		return nil, 0, fmt.Errorf("speaking to the virtual machine: %w", err)
	}
	return r, number, nil
}

// await waits for the end of a request.
func (r *request) await(ctx context.Context) (end, error) {
	select {
	case <-r.done:
	case <-ctx.Done():
		return end{}, context.Cause(ctx)
	}
	if r.err != nil {
		return r.end, r.err
	}
	if r.end.Error != "" {
		return r.end, errors.New(r.end.Error)
	}
	return r.end, nil
}

func (g *Guest) do(ctx context.Context, k kind, body any, stdout io.Writer) (end, error) {
	r, _, err := g.ask(k, body, stdout, nil)
	if err != nil {
		return end{}, err
	}
	return r.await(ctx)
}

// Fetch copies a file of the guest.
func (g *Guest) Fetch(ctx context.Context, path string, to io.Writer) error {
	if _, err := g.do(ctx, frameRead, path, to); err != nil {
		return fmt.Errorf("fetching %s from the virtual machine: %w", path, err)
	}
	return nil
}

// ReadFile reads a file of the guest.
func (g *Guest) ReadFile(ctx context.Context, path string) ([]byte, error) {
	var b bytes.Buffer
	err := g.Fetch(ctx, path, &b)
	return b.Bytes(), err
}

// MakeFile creates a file in the guest. Zeros follow the data up to the size and take no space.
func (g *Guest) MakeFile(ctx context.Context, path string, data []byte, size int64) error {
	if _, err := g.do(ctx, frameMake, newFile{path, data, max(size, int64(len(data)))}, nil); err != nil {
		return fmt.Errorf("making %s in the virtual machine: %w", path, err)
	}
	return nil
}

// Call calls a function of Main in the guest. It decodes the returned value into output, unless
// output is nil.
func (g *Guest) Call(ctx context.Context, name string, input, output any) error {
	text, err := json.Marshal(input)
	if err != nil {
		return fmt.Errorf("calling %s: %w", name, err)
	}
	e, err := g.do(ctx, frameCall, callOf{name, text}, nil)
	if err != nil {
		return err
	}
	if output == nil {
		return nil
	}
	if err := json.Unmarshal(e.Output, output); err != nil {
		return fmt.Errorf("reading what %s returned: %w", name, err)
	}
	return nil
}

// Clock reads the guest's CLOCK_MONOTONIC and this machine's clock at the same moment, except for
// the returned error.
func (g *Guest) Clock(ctx context.Context) (guestNs, hereNs int64, within time.Duration, err error) {
	before := clock.Now()
	e, err := g.do(ctx, frameClock, nil, nil)
	after := clock.Now()
	if err != nil {
		return 0, 0, 0, fmt.Errorf("reading the virtual machine's clock: %w", err)
	}
	return e.Ns, before + (after-before)/2, time.Duration(after-before) / 2, nil
}

// PID returns the process ID of qemu.
func (g *Guest) PID() int { return g.qemu.command.Process.Pid }

// Ended is closed at the end of the guest, with or without Close.
func (g *Guest) Ended() <-chan struct{} { return g.qemu.ended }

// Err returns the reason of the guest's end. It waits for the end.
func (g *Guest) Err() error { return g.qemu.why() }

// Close ends the guest at once. A guest has no data to save.
func (g *Guest) Close() {
	g.mu.Lock()
	if g.why == nil {
		g.why = errors.New("the virtual machine was ended")
	}
	g.mu.Unlock()
	g.qemu.kill()
}
