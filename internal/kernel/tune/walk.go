package tune

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"airtide/internal/kernel/sockets/owner"
)

// namespaces returns the network namespaces with these inodes, or all of them without inodes.
func namespaces(inodes []uint32) ([]owner.NetNS, error) {
	list, _, err := owner.ListNetNS()
	if err != nil {
		return nil, fmt.Errorf("listing network namespaces: %w", err)
	}
	if len(inodes) == 0 {
		return list, nil
	}
	var found []owner.NetNS
	for _, inode := range inodes {
		i := slices.IndexFunc(list, func(ns owner.NetNS) bool { return ns.Inode == inode })
		if i < 0 {
			return nil, fmt.Errorf("network namespace %d: %w", inode, owner.ErrNetNSGone)
		}
		found = append(found, list[i])
	}
	return found, nil
}

// walk runs the programs in a mode over the sockets of namespaces and calls f with each record.
// Without inodes it walks all namespaces. It skips namespaces that end meanwhile. Only one walk may
// run at a time.
func (p *programs) walk(
	ctx context.Context, k *kernel, mode socketsTuneMode, session uint64, netns []uint32, f func(*socketsTuneRecord),
) error {
	list, _, err := owner.ListNetNS()
	if err != nil {
		return fmt.Errorf("listing network namespaces: %w", err)
	}
	order := socketsTuneWalk{Session: session, Mode: uint32(mode), TickUs: uint32(1_000_000 / k.hz)}
	if err := p.Maps[walkMap].Put(uint32(0), &order); err != nil {
		return fmt.Errorf("ordering a walk: %w", err)
	}
	program := p.Programs[map[socketsTuneMode]string{
		socketsTuneModeTUNE_LIST: applyProgram, socketsTuneModeTUNE_APPLY: applyProgram,
		socketsTuneModeTUNE_READ: readProgram, socketsTuneModeTUNE_HOLD: readProgram,
		socketsTuneModeTUNE_RELEASE: releaseProgram,
	}[mode]]
	for _, ns := range list {
		if len(netns) > 0 && !slices.Contains(netns, ns.Inode) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		err := owner.InNetNS(ns, func() error { return walkHere(program, f) })
		if err != nil && !errors.Is(err, owner.ErrNetNSGone) {
			return fmt.Errorf("walking the sockets of network namespace %s: %w", ns, err)
		}
	}
	return nil
}

// walkHere walks the namespace of this thread.
func walkHere(program *ebpf.Program, f func(*socketsTuneRecord)) error {
	it, err := link.AttachIter(link.IterOptions{Program: program})
	if err != nil {
		return err
	}
	defer it.Close()
	r, err := it.Open()
	if err != nil {
		return err
	}
	defer r.Close()
	var record socketsTuneRecord
	buffer := make([]byte, binary.Size(&record))
	for {
		if _, err := io.ReadFull(r, buffer); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := binary.Read(bytes.NewReader(buffer), binary.NativeEndian, &record); err != nil {
			return err
		}
		if f != nil {
			f(&record)
		}
	}
}
