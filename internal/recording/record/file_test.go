package record

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/observe/source"
	"airtide/internal/recording/trace"
	"airtide/test/testnet"
)

// ended is a recording that has ended.
type ended struct {
	result *Result
	err    error
}

// recordConnection polls a connection of this process, and does something to the file once samples
// are in it. It returns how the recording ends by itself, or when the limit is over.
func recordConnection(t *testing.T, limit time.Duration, path string, do func()) ended {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	end := make(chan ended, 1)
	begun := make(chan bool)
	go func() {
		r, err := Run(ctx, Options{
			Path: path, Begun: func() { close(begun) },
			Observe: source.Options{
				Source: source.Diag, Poll: 20 * time.Millisecond,
				Filter: filter.Filter{Ports: []uint16{l.Addr().(*net.TCPAddr).AddrPort().Port()}},
			},
		})
		end <- ended{r, err}
	}()
	select {
	case <-begun:
	case e := <-end:
		t.Fatal(e.err)
	}
	testnet.Eventually(t, 20*time.Second, "samples in the file", func() bool {
		n, _ := written(t, path)
		return n > 0
	})
	do()
	return <-end
}

func TestARecordingWhoseFileIsGoneFails(t *testing.T) {
	const never = time.Minute
	for _, c := range []struct {
		name  string
		limit time.Duration // the recording ends by itself before it if its data is lost
		do    func(t *testing.T, path string) error
		want  error
		whole bool
	}{
		{
			"deleted", never,
			func(_ *testing.T, path string) error { return os.Remove(path) },
			trace.ErrDeleted, false,
		},
		{
			"replaced by a link", never,
			func(_ *testing.T, path string) error {
				return errors.Join(os.Remove(path), os.Symlink("/etc/hostname", path))
			},
			trace.ErrDeleted, false,
		},
		{
			"truncated", never,
			func(_ *testing.T, path string) error { return os.Truncate(path, 0) },
			trace.ErrTruncated, false,
		},
		{
			"moved", 3 * time.Second,
			func(t *testing.T, path string) error { return os.Rename(path, path+".old") },
			&trace.MovedError{}, true,
		},
		{
			"replaced", 3 * time.Second,
			func(t *testing.T, path string) error {
				return errors.Join(os.Rename(path, path+".old"), os.WriteFile(path, []byte("other"), 0o600))
			},
			&trace.MovedError{}, true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "a.atr")
			e := recordConnection(t, c.limit, path, func() {
				if err := c.do(t, path); err != nil {
					t.Error(err)
				}
			})
			var moved *trace.MovedError
			if _, wantMoved := c.want.(*trace.MovedError); wantMoved != errors.As(e.err, &moved) ||
				!wantMoved && !errors.Is(e.err, c.want) {
				t.Errorf("error %v, want %v", e.err, c.want)
			}
			if c.whole {
				if n, _ := written(t, path+".old"); uint64(n) != e.result.Samples || n == 0 {
					t.Errorf("%d samples in the file, the sum says %d", n, e.result.Samples)
				}
			} else if e.result.Samples != 0 || e.result.Flows != 0 || e.result.Bytes != 0 {
				t.Errorf("nothing is left, the sum says %+v", e.result)
			}
		})
	}
}

// The end of the file is gone, and its beginning can be read.
func TestTheSumCountsWhatIsLeftOfTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.atr")
	e := recordConnection(t, time.Minute, path, func() {
		info, err := os.Stat(path)
		if err == nil {
			err = os.Truncate(path, info.Size()-1)
		}
		if err != nil {
			t.Error(err)
		}
	})
	n, _ := written(t, path)
	if !errors.Is(e.err, trace.ErrTruncated) || uint64(n) != e.result.Samples {
		t.Errorf("%v: %d samples in the file, the sum says %d", e.err, n, e.result.Samples)
	}
}
