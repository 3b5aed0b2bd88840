package congestion

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// Unload unregisters a pinned congestion control of airtide and waits until its name is free. It
// returns the number of sockets that still use it. These sockets, and namespaces with this default,
// keep it until they end or choose another one.
//
// The error is ErrNotLoaded if airtide did not load it. For an unpinned one the error names the
// process that has to end.
func Unload(ctx context.Context, bpffs, name string) (sockets uint64, err error) {
	e, err := Find(bpffs, name)
	if err != nil {
		return 0, err
	}
	if e.Pin == "" && len(e.Processes) == 0 {
		return 0, fmt.Errorf("%s is pinned below another BPF file system (--bpffs)", name)
	}
	if e.Pin == "" {
		return 0, fmt.Errorf("%s is not pinned: it ends with the process that loaded it (%v)", name, e.Processes)
	}
	if err := os.Remove(e.Pin); err != nil {
		return 0, fmt.Errorf("unloading %s: %w", name, err)
	}
	// The kernel lets go of it in the background.
	for {
		available, err := Available()
		if err != nil || !slices.Contains(available, name) {
			return e.Sockets, err
		}
		if pids := holders(e.linkID); len(pids) > 0 {
			return e.Sockets, fmt.Errorf("unloading %s: its pin is gone, and processes %v still hold it", name, pids)
		}
		select {
		case <-ctx.Done():
			return e.Sockets, errors.Join(fmt.Errorf("waiting for the kernel to let go of %s", name), ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
}
