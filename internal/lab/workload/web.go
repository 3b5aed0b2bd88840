package workload

import (
	"context"
	"errors"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// web runs short downloads by several simultaneous users, as many as the flow's parallel. Each user
// repeats a download, which is a curl with its own connection, and a pause. Sizes and pauses have
// exponential distributions and depend on the seed.
func (f *flow) web(ctx context.Context, when period, r *outcome) error {
	return f.perConnection(r, func(i int, out *os.File, begun func()) error {
		random := f.random(i)
		for done := 0; f.Flow.Transfers == 0 || done < f.Flow.Transfers; done++ {
			size := max(1, int64(random.ExpFloat64()*float64(f.Flow.Size)))
			pause := time.Duration(random.ExpFloat64() * float64(f.Flow.Interval))
			begun()
			err := f.download(ctx, when, size, out)
			if errors.Is(err, errStopped) {
				return nil
			}
			if err != nil {
				return err
			}
			next := time.Now().Add(pause)
			if !next.Before(when.stop) {
				return waitUntil(ctx, when.stop)
			}
			if err := waitUntil(ctx, next); err != nil {
				return err
			}
		}
		return nil
	})
}

// errStopped is the error of a download during the stop of the flow.
var errStopped = errors.New("stopped")

func (f *flow) download(ctx context.Context, when period, size int64, out *os.File) error {
	url := "http://" + hostPort(f.to.Address(), f.port) + "/" + zerosName
	p, err := f.client(append(f.curlArgs(), "--range", "0-"+strconv.FormatInt(size-1, 10), url), nil, out)
	if err != nil {
		return err
	}
	e, err := f.await(ctx, p, when.stop, unix.SIGKILL, when.deadline)
	switch {
	case err != nil:
		return err
	case e.err == nil:
		return nil
	case e.signaled:
		return errStopped
	}
	reports, said, err := f.readCurl(out.Name())
	if err != nil {
		return err
	}
	if n := len(reports); n > 0 && reports[n-1].ExitCode != 0 {
		if reports[n-1].ConnectTime == 0 {
			return f.unreached(reason(reports[n-1].Message, e.err))
		}
		said = reports[n-1].Message
	}
	return f.failed(reason(said, e.err))
}

// random returns a user's source of random numbers. It depends on the flow's name, so that an
// additional flow does not change the other flows.
func (f *flow) random(user int) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(f.Name)) // never fails
	return rand.New(rand.NewPCG(f.options.Seed, h.Sum64()+uint64(user)))
}
