package record

import (
	"context"
	"net"
	"path/filepath"
	"testing"
	"time"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/observe/source"
	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
	"airtide/test/testnet"
)

// rows counts the samples of a recording.
type rows struct {
	tcp.Discard
	n int
}

func (r *rows) Samples(b *tcp.Batch) error {
	r.n += b.Len()
	return nil
}

// written reads how many samples are in a file by now, and how the recording was made.
func written(t *testing.T, path string) (samples int, m trace.Metadata) {
	t.Helper()
	r, err := trace.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var sink rows
	if err := r.Scan(context.Background(), trace.ScanOptions{}, &sink); err != nil {
		t.Fatal(err)
	}
	return sink.n, r.Metadata()
}

// polling is a recording by diag of a connection that is there, which end ends.
func polling(t *testing.T, poll time.Duration, density filter.Density) (path string, end func()) {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	path = filepath.Join(t.TempDir(), "a.atr")
	begun := make(chan bool)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, err := Run(ctx, Options{
			Path: path, Begun: func() { close(begun) },
			Observe: source.Options{
				Source: source.Diag, Poll: poll, Density: density,
				Filter: filter.Filter{Ports: []uint16{l.Addr().(*net.TCPAddr).AddrPort().Port()}},
			},
		})
		ended <- err
	}()
	select {
	case <-begun:
	case err := <-ended:
		t.Fatal(err)
	}
	return path, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// Samples of a poll do not wait for the next poll, which may be long after.
func TestSamplesAreWrittenDownBeforeMoreCome(t *testing.T) {
	path, end := polling(t, time.Minute, filter.Density{})
	defer end()
	testnet.Eventually(t, 20*time.Second, "the first poll's sample to be written", func() bool {
		n, _ := written(t, path)
		return n > 0
	})
}

func TestARecordingSaysHowOftenItWasPolled(t *testing.T) {
	path, end := polling(t, 20*time.Millisecond, filter.Density{Mode: filter.AtMost, Every: 2 * time.Second})
	end()
	_, m := written(t, path)
	if want := (2 * time.Second).Nanoseconds(); m.IntervalNs != want || m.Density != "2s" {
		t.Errorf("interval %d ns at density %s, want %d", m.IntervalNs, m.Density, want)
	}
}
