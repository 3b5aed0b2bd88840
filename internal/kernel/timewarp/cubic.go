package timewarp

import (
	"context"
	"errors"
	"fmt"
	"time"

	"airtide/internal/kernel/congestion"
	"airtide/internal/kernel/sockets/owner"
	"airtide/internal/sys/file"
)

// cubicName is the name of the CUBIC that grows by real time. It lasts until N changes again,
// even if the process that loaded it ends, since N lasts as well.
const cubicName = "timewarp_cubic"

// scaledCubic holds the values needed to undo it.
type scaledCubic struct {
	NetNS uint32 `json:"netns"` // inode of the namespace that uses it for new connections
	// Before is the congestion control that they had before.
	Before string `json:"before"`
}

// setCubic takes back the scaled CUBIC of an earlier N, and loads one for this N if one is wanted.
func (k *Kernel) setCubic(s *state, r Ratio, wanted bool) error {
	if err := k.undoCubic(s); err != nil {
		return err
	}
	if !wanted || r == One {
		return nil
	}
	netns, err := owner.SelfNetNS()
	if err != nil {
		return fmt.Errorf("looking for this network namespace: %w", err)
	}
	before, err := file.Line(k.defaultCC())
	if err != nil {
		return fmt.Errorf("asking for the congestion control: %w", err)
	}
	s.Cubic = &scaledCubic{NetNS: netns, Before: before}
	if err := k.writeState(s); err != nil {
		return err
	}
	if err := k.loadCubic(r); err != nil {
		return errors.Join(fmt.Errorf("a scaled CUBIC: %w", err), k.undoCubic(s))
	}
	if err := file.Set(k.defaultCC(), cubicName); err != nil {
		return errors.Join(fmt.Errorf("choosing %s for new connections: %w", cubicName, err), k.undoCubic(s))
	}
	return nil
}

// undoCubic gives the namespace its congestion control back, unless somebody has chosen another
// meanwhile, and unloads the scaled CUBIC. Connections that use it keep it until they end.
func (k *Kernel) undoCubic(s *state) error {
	if s.Cubic == nil {
		return nil
	}
	err := inNetNS(s.Cubic.NetNS, func() error {
		now, err := file.Line(k.defaultCC())
		if err != nil || now != cubicName {
			return err
		}
		return file.Set(k.defaultCC(), s.Cubic.Before)
	})
	if err != nil {
		return fmt.Errorf("giving new connections their congestion control back: %w", err)
	}
	if err := k.unloadCubic(); err != nil {
		return fmt.Errorf("unloading %s: %w", cubicName, err)
	}
	s.Cubic = nil
	return k.writeState(s)
}

func (k *Kernel) defaultCC() string {
	return k.ipv4("tcp_congestion_control")
}

// inNetNS calls f in the network namespace with this inode. An ended namespace is no error.
func inNetNS(inode uint32, f func() error) error {
	if self, err := owner.SelfNetNS(); err != nil || self == inode {
		return errors.Join(err, f())
	}
	all, _, err := owner.ListNetNS()
	if err != nil {
		return err
	}
	for _, ns := range all {
		if ns.Inode == inode {
			if err := owner.InNetNS(ns, f); !errors.Is(err, owner.ErrNetNSGone) {
				return err
			}
		}
	}
	return nil
}

func loadCubic(r Ratio) error {
	p := congestion.CubicPlain.Defaults()
	p.TimeNum = r.Num
	p.TimeDen = r.Den
	l, err := congestion.Load(congestion.CubicPlain, congestion.Options{Name: cubicName, Parameters: p, Pin: true})
	if err != nil {
		return err
	}
	return l.Close() // the pin keeps it
}

// unloadWait is the longest time, by the warped clock, that the kernel takes to release it.
const unloadWait = time.Minute

func unloadCubic() error {
	ctx, cancel := context.WithTimeout(context.Background(), unloadWait)
	defer cancel()
	_, err := congestion.Unload(ctx, congestion.DefaultBPFFS, cubicName)
	if errors.Is(err, congestion.ErrNotLoaded) || errors.Is(err, congestion.ErrNotSupported) {
		return nil
	}
	return err
}
