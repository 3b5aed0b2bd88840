package run

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"airtide/internal/cell"
	"airtide/internal/observe/monitor"
	"airtide/internal/recording/record"
	"airtide/internal/sockets/filter"
)

const recordingFile = "tcp.atr"

// recording is the kernel's TCP of some machines being recorded.
type recording struct {
	stop   context.CancelFunc
	done   chan struct{}
	result *record.Result
	err    error
}

// startRecording records into dir until stopped, and returns when all is recorded from then on.
func startRecording(ctx context.Context, dir, tool string, hosts []cell.Host) (*recording, error) {
	f, err := only(hosts)
	if err != nil {
		return nil, fmt.Errorf("recording TCP: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	r := &recording{stop: stop, done: make(chan struct{})}
	begun := make(chan struct{})
	go func() {
		defer close(r.done)
		r.result, r.err = record.Run(ctx, record.Options{
			Path: filepath.Join(dir, recordingFile), Tool: tool,
			Monitor: monitor.Options{Source: monitor.Auto, Filter: f, AllNamespaces: true},
			Begun:   func() { close(begun) },
		})
	}()
	select {
	case <-begun:
		return r, nil
	case <-r.done:
		stop()
		return nil, fmt.Errorf("recording TCP: %w", r.err)
	}
}

// end ends the recording, and returns once it is on disk.
func (r *recording) end() error {
	r.stop()
	<-r.done
	if r.err != nil {
		return fmt.Errorf("recording TCP: %w", r.err)
	}
	return nil
}

// lossWarning says what a recording lacks, empty when it is complete.
func lossWarning(r *record.Result) string {
	if lost := r.Loss.Total(); lost > 0 {
		all := lost + r.Samples + r.Events
		return fmt.Sprintf("the recording lost %d of %d records (%.2g %%): counts that are taken from it are too low by about as much", lost, all, 100*float64(lost)/float64(all))
	}
	return ""
}

// only lets the sockets of some machines through: by namespace or, where they are too many, by address.
func only(hosts []cell.Host) (f filter.Filter, err error) {
	if len(hosts) > filter.MaxNetNS {
		for _, h := range hosts {
			f.Prefixes = append(f.Prefixes, netip.PrefixFrom(h.Address, h.Address.BitLen()))
		}
		f.Prefixes = aggregated(f.Prefixes)
		return f, f.Check()
	}
	for _, h := range hosts {
		info, err := os.Stat(filepath.Join("/run/netns", h.Namespace))
		if err != nil {
			return f, err
		}
		f.NetNS = append(f.NetNS, uint32(info.Sys().(*syscall.Stat_t).Ino))
	}
	return f, nil
}

// aggregated are fewer prefixes that cover the same addresses, and perhaps some beside them.
func aggregated(prefixes []netip.Prefix) []netip.Prefix {
	for bits := 32; len(prefixes) > filter.MaxPrefixes && bits > 8; bits-- {
		for i, p := range prefixes {
			if p.Bits() > bits {
				prefixes[i] = netip.PrefixFrom(p.Addr(), bits).Masked()
			}
		}
		slices.SortFunc(prefixes, func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) })
		prefixes = slices.Compact(prefixes)
	}
	return prefixes
}
