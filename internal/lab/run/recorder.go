package run

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/lab/cellradio"
	"airtide/internal/lab/machine"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
	"airtide/internal/observe/source"
	"airtide/internal/recording/record"
)

// tcpRecorder records the TCP of the namespaces into one file.
type tcpRecorder struct {
	dir, tool string
	record    plan.Names // machines that are recorded
	radio     bool       // with the data of the terminals' radios
	machines  *machines

	recorded []string
	stop     context.CancelFunc
	done     chan struct{}
	result   *record.Result
	err      error
}

const recordingFile = "tcp.atr"

// Start starts the recording and returns after its start.
func (r *tcpRecorder) Start(ctx context.Context) error {
	var namespaces []*machine.Namespace
	for _, m := range r.machines.all.Named(r.record) {
		if n, ok := m.(*machine.Namespace); ok {
			namespaces = append(namespaces, n)
		}
	}
	if len(namespaces) == 0 {
		return nil
	}
	f, err := filterFor(namespaces)
	if err != nil {
		return fmt.Errorf("recording TCP: %w", err)
	}
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	begun := make(chan struct{})
	go func() {
		defer close(done)
		r.result, r.err = record.Run(ctx, record.Options{
			Path: filepath.Join(r.dir, recordingFile), Tool: r.tool,
			Observe: source.Options{
				Source: source.Auto, Filter: f, AllNamespaces: true, Radio: r.radio, OtherRadios: r.radios,
			},
			Begun: func() { close(begun) },
		})
	}()
	select {
	case <-begun:
	case <-done:
		stop()
		return fmt.Errorf("recording TCP: %w", r.err)
	}
	r.stop = stop
	r.done = done
	for _, name := range r.record {
		if slices.ContainsFunc(namespaces, func(n *machine.Namespace) bool { return n.Name() == name }) {
			r.recorded = append(r.recorded, name)
		}
	}
	return nil
}

// radios are those of the run's cell.
func (r *tcpRecorder) radios() (source.Radios, error) {
	return cellradio.Of("lab", r.machines.cell.cell), nil
}

// Stop returns when the recording is on disk.
func (r *tcpRecorder) Stop() error {
	if r.stop == nil {
		return nil
	}
	r.stop()
	<-r.done
	if r.err != nil {
		return fmt.Errorf("recording TCP: %w", r.err)
	}
	return nil
}

// Files returns the same file for each recorded machine.
func (r *tcpRecorder) Files() (all []result.File) {
	for _, name := range r.recorded {
		all = append(all, result.File{Machine: name, Name: recordingFile})
	}
	return all
}

func (r *tcpRecorder) loss() string { return lossWarning(r.result) }

// lossWarning describes the losses of a recording; empty if nothing was lost.
func lossWarning(r *record.Result) string {
	lost := r.Loss.Total()
	if lost == 0 {
		return ""
	}
	all := lost + r.Samples + r.Events
	return fmt.Sprintf("the recording lost %d of %d records (%.2g %%): "+
		"counts that are taken from it are too low by about as much", lost, all, 100*float64(lost)/float64(all))
}

// filterFor selects the sockets of some namespaces. It selects them by namespace, or by address if
// there are too many namespaces.
func filterFor(namespaces []*machine.Namespace) (f filter.Filter, err error) {
	if len(namespaces) > filter.MaxNetNS {
		for _, n := range namespaces {
			f.Prefixes = append(f.Prefixes, netip.PrefixFrom(n.Address(), n.Address().BitLen()))
		}
		f.Prefixes = widenPrefixes(f.Prefixes)
		return f, f.Check()
	}
	for _, n := range namespaces {
		info, err := os.Stat(filepath.Join("/run/netns", n.Namespace))
		if err != nil {
			return f, err
		}
		f.NetNS = append(f.NetNS, uint32(info.Sys().(*syscall.Stat_t).Ino))
	}
	return f, nil
}

// widenPrefixes returns fewer prefixes that contain the same addresses. They may contain further
// addresses.
func widenPrefixes(prefixes []netip.Prefix) []netip.Prefix {
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

// guestRecorder records the TCP of each guest inside the guest.
type guestRecorder struct {
	dir, tool string
	record    plan.Names
	machines  *machines
	all       []*guestRecording
}

type guestRecording struct {
	guest  *guest
	file   string
	result record.Result
}

// Start starts all recordings and returns after their start.
func (r *guestRecorder) Start(ctx context.Context) error {
	for _, m := range r.machines.all.Named(r.record) {
		g, ok := m.(*guest)
		if !ok {
			continue
		}
		if err := g.Call(ctx, recordFunction, r.tool, nil); err != nil {
			return fmt.Errorf("recording TCP of %s: %w", g.name, err)
		}
		r.all = append(r.all, &guestRecording{guest: g, file: "tcp-" + g.name + ".atr"})
	}
	return nil
}

// guestEnd is the time in which a guest must end and send its recording.
const guestEnd = time.Minute

// Stop ends the recordings and fetches them from the guests.
func (r *guestRecorder) Stop() error {
	var errs []error
	for _, one := range r.all {
		if err := one.fetch(filepath.Join(r.dir, one.file)); err != nil {
			errs = append(errs, fmt.Errorf("recording TCP of %s: %w", one.guest.name, err))
		}
	}
	return errors.Join(errs...)
}

func (r *guestRecording) fetch(path string) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), guestEnd)
	defer cancel()
	if err := r.guest.Call(ctx, stopFunction, nil, &r.result); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return r.guest.Fetch(ctx, guestRecordingFile, f)
}

// Files returns the recordings in the order of the machines, without their clocks.
func (r *guestRecorder) Files() (all []result.File) {
	for _, one := range r.all {
		all = append(all, result.File{Machine: one.guest.name, Name: one.file})
	}
	return all
}

func (r *guestRecorder) loss(name string) string {
	for _, one := range r.all {
		if one.guest.name == name {
			return lossWarning(&one.result)
		}
	}
	return ""
}

// packetRecorder captures the packets of machines by tcpdump. The packets of a guest are captured
// between it and the cell.
type packetRecorder struct {
	dir      string
	record   plan.Names
	machines *machines
	all      []*capture
}

type capture struct {
	machine, file string
	process       *machine.Process
}

const (
	// snapBytes is the captured part of each packet.
	snapBytes = "160"
	// captureEnd is the time for tcpdump to write its buffer.
	captureEnd = 5 * time.Second
)

// Start starts all captures and returns after their start.
func (r *packetRecorder) Start(context.Context) error {
	for _, m := range r.machines.namespaces.Named(r.record) {
		device := "any"
		if _, ok := r.machines.all.Get(m.Name()).(*guest); ok {
			device = "eth0"
		}
		c, err := startCapture(r.dir, m, device)
		if err != nil {
			return err
		}
		r.all = append(r.all, c)
	}
	return nil
}

func startCapture(dir string, m machine.Machine, device string) (*capture, error) {
	path, err := machine.Tcpdump.Path()
	if err != nil {
		return nil, err
	}
	c := &capture{machine: m.Name(), file: m.Name() + ".pcap"}
	listening := make(chan struct{}, 1)
	said := &machine.Output{Watch: func(line string) {
		if strings.Contains(line, "listening on") {
			listening <- struct{}{}
		}
	}}
	c.process, err = m.Start(machine.Command{Path: path, Dir: dir, Stderr: said, Args: []string{
		"-i", device, "-w", c.file, "-s", snapBytes, "-U", "-n", "-Z", "root", "--time-stamp-precision", "nano",
	}})
	if err != nil {
		return nil, fmt.Errorf("capturing packets of %s: %w", c.machine, err)
	}
	select {
	case <-listening:
		return c, nil
	case <-c.process.Done():
		return nil, fmt.Errorf("capturing packets of %s: tcpdump: %s", c.machine, c.process.LastLine())
	}
}

// Stop returns when the captures are written.
func (r *packetRecorder) Stop() error {
	var errs []error
	for _, c := range r.all {
		if err := c.process.Stop(unix.SIGINT, captureEnd); err != nil {
			errs = append(errs, fmt.Errorf("capturing packets of %s: tcpdump: %w", c.machine, err))
		}
	}
	return errors.Join(errs...)
}

func (r *packetRecorder) Files() (all []result.File) {
	for _, c := range r.all {
		all = append(all, result.File{Machine: c.machine, Name: c.file})
	}
	return all
}

// logRecorder keeps the lines that the kernel logs during a run.
type logRecorder struct {
	dir      string
	log      *machine.KernelLog
	file     string // empty if the kernel logged nothing
	warnings []string
}

// Start marks the end of the log. A container may refuse this; the run then continues without the
// log.
func (r *logRecorder) Start(context.Context) (err error) {
	r.log, err = machine.MarkKernelLog()
	if err != nil {
		r.warnings = append(r.warnings, "the kernel's log is not saved: "+err.Error())
		r.log = nil
	}
	return nil
}

func (r *logRecorder) Stop() error {
	if r.log == nil {
		return nil
	}
	return errors.Join(r.save(), r.log.Close())
}

func (r *logRecorder) save() error {
	lines, err := r.log.Lines()
	if err != nil || len(lines) == 0 {
		return err
	}
	r.file = "kernel.log"
	if err := os.WriteFile(filepath.Join(r.dir, r.file), []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		return fmt.Errorf("saving the kernel's log: %w", err)
	}
	return nil
}
