package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"airtide/internal/units"
)

// ErrNotRegular is the error of a FIFO, a socket or a device where a file is expected. A folder
// gives EISDIR.
var ErrNotRegular = errors.New("it is not a regular file")

// TooLargeError is the error of a file that is longer than its reader accepts.
type TooLargeError struct {
	Path  string
	Limit int64 // bytes
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s: the file is larger than %s", e.Path, units.Size(e.Limit).Short())
}

// Flags of every open. A FIFO or a device that takes the place of a file does not make the program
// wait, and a terminal does not become the one that controls it.
const safely = unix.O_NONBLOCK | unix.O_NOCTTY

// Open opens a regular file to read. Other kinds are refused before they are opened where
// possible: opening a device may change its state.
func Open(path string) (*os.File, error) {
	return open(path, func(kind fs.FileMode) bool { return kind == 0 })
}

// OpenStream opens a regular file or a pipe to read. It waits for the writer of a pipe until the
// context ends.
func OpenStream(ctx context.Context, path string) (*os.File, error) {
	f, err := open(path, func(kind fs.FileMode) bool { return kind == 0 || kind == fs.ModeNamedPipe })
	if err != nil {
		return nil, err
	}
	if err := awaitData(ctx, f); err != nil {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: path, Err: err}, f.Close())
	}
	return f, nil
}

// open opens a file of an accepted kind. It looks before and behind the open call, because the path
// may lead to another file in between.
func open(path string, accepted func(kind fs.FileMode) bool) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !accepted(info.Mode().Type()) {
		return nil, refused(path, info)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|safely, 0)
	if err != nil {
		return nil, err
	}
	info, err = f.Stat()
	if err == nil && !accepted(info.Mode().Type()) {
		err = refused(path, info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func refused(path string, info fs.FileInfo) error {
	reason := ErrNotRegular
	if info.IsDir() {
		reason = unix.EISDIR
	}
	return &fs.PathError{Op: "open", Path: path, Err: reason}
}

// waitMs is the time in ms after which a wait for the writer of a pipe looks at its context.
const waitMs = 50

// awaitData waits until a pipe has data or its writer has gone. A regular file always has.
func awaitData(ctx context.Context, f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	for ready := 0; ready == 0; {
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		inner := raw.Control(func(fd uintptr) {
			ready, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, waitMs)
		})
		if inner != nil {
			return inner
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
	return nil
}

// Read returns the content of a regular file of at most limit bytes. A larger one gives a
// TooLargeError.
func Read(path string, limit int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, &TooLargeError{path, limit}
	}
	var content bytes.Buffer
	content.Grow(int(info.Size()) + bytes.MinRead) // room to find the file's end without growth
	// The file may grow while it is read, and those of the kernel have no size.
	if _, err := content.ReadFrom(io.LimitReader(f, limit+1)); err != nil {
		return nil, err
	}
	if int64(content.Len()) > limit {
		return nil, &TooLargeError{path, limit}
	}
	return content.Bytes(), nil
}
