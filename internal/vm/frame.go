package vm

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// kind is the type of a frame.
type kind byte

// Frames of the host carry a number that the guest's answers have as well.
const (
	frameRun    kind = 'r' // Command as JSON; the answers are started, output and end
	frameSignal kind = 's' // a signal's number, for the command with the same number
	frameRead   kind = 'f' // a path; the answers are output and end
	frameMake   kind = 'm' // newFile as JSON; the answer is end
	frameCall   kind = 'c' // callOf as JSON; the answer is end, with the function's result
	frameClock  kind = 't' // nothing; the answer is end, with the guest's CLOCK_MONOTONIC

	frameHello   kind = 'h' // Hello as JSON, once
	frameStarted kind = 'b' // the command has begun
	frameStdout  kind = 'o'
	frameStderr  kind = 'e'
	frameEnd     kind = 'x' // end as JSON
)

// frame is one message: a byte for its kind, number and length with 4 bytes each (big endian), and
// the body.
type frame struct {
	kind   kind
	number uint32
	body   []byte
}

const (
	frameHead = 9
	// frameMost bounds bodies, so that a broken stream does not ask for all memory.
	frameMost = 16 << 20
)

// frameWriter writes frames of several goroutines.
type frameWriter struct {
	mu  sync.Mutex
	to  io.Writer
	buf []byte
}

func (w *frameWriter) write(k kind, number uint32, body []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf = append(w.buf[:0], byte(k))
	w.buf = binary.BigEndian.AppendUint32(w.buf, number)
	w.buf = binary.BigEndian.AppendUint32(w.buf, uint32(len(body)))
	w.buf = append(w.buf, body...)
	_, err := w.to.Write(w.buf)
	return err
}

func (w *frameWriter) writeJSON(k kind, number uint32, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return w.write(k, number, body)
}

func readFrame(r io.Reader) (f frame, err error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return f, err
	}
	f.kind = kind(head[0])
	f.number = binary.BigEndian.Uint32(head[1:])
	size := binary.BigEndian.Uint32(head[5:])
	if size > frameMost {
		return f, fmt.Errorf("a message of %d bytes, where at most %d are expected", size, frameMost)
	}
	f.body = make([]byte, size)
	_, err = io.ReadFull(r, f.body)
	return f, err
}

// output sends the output of a command as frames.
type output struct {
	to     *frameWriter
	kind   kind
	number uint32
}

func (o output) Write(b []byte) (int, error) { return len(b), o.to.write(o.kind, o.number, b) }

// newFile is a request to create a file in the guest: the data, followed by zeros up to the size.
type newFile struct {
	Path string `json:"path"`
	Data []byte `json:"data,omitempty"`
	Size int64  `json:"size"`
}

// callOf is a call of a function in the guest.
type callOf struct {
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// end is the final answer to a request.
type end struct {
	Error  string          `json:"error,omitempty"`  // it could not be done
	Status int             `json:"status,omitempty"` // a command's exit status
	Signal int             `json:"signal,omitempty"` // signal that killed it; 0 for none
	Ns     int64           `json:"ns,omitempty"`     // the clock
	Output json.RawMessage `json:"output,omitempty"` // result of a call
}

// Hello is the message of a guest that is ready.
type Hello struct {
	Release string `json:"release"` // its kernel's release, as uname -r prints it
}
