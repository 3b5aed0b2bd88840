package bpf

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"

	"airtide/internal/kernel/sockets/bpffilter"
	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/sys/clock"
	"airtide/internal/sys/pidns"
)

// Attach is the program type by which the hooks are attached.
type Attach string

// The ways to attach.
const (
	AttachAuto    Attach = ""               // the first of the others that the kernel takes
	AttachTrusted Attach = "tp_btf_trusted" // typed pointers whose loads need no checks: Linux 6.9
	AttachTPBTF   Attach = "tp_btf"         // typed pointers
	AttachRawTP   Attach = "raw_tp"         // a copy of each socket
)

// Options select the flows and their density.
type Options struct {
	Filter  filter.Filter
	Density filter.Density
	// BufferBytes is the size of each processor's ring, rounded up to a power of two of records; 0
	// means DefaultBufferBytes.
	BufferBytes int
	// MaxFlows is the number of sockets that can be followed at once; 0 means DefaultMaxFlows.
	// Further sockets are counted as untracked.
	MaxFlows int
	// Attach forces a program type.
	Attach Attach
	// BTFPath is a file with the running kernel's BTF, for kernels that do not expose it
	// themselves.
	BTFPath string
	// Drain is the time between two looks at the rings, on an ordinary thread. With 0 it follows
	// the load, from minDrain to maxDrain, on a thread that goes before others.
	Drain time.Duration
	// BatchTime is the longest time that samples wait for a full batch; 0 means DefaultBatchTime.
	BatchTime time.Duration
	// NoOwners leaves out the owners of the sockets. It is not for a filter by process.
	NoOwners bool
	// With chooses the parts that are observed on demand.
	With With
	// Aliases finds names under which congestion controls with another's private state are loaded:
	// "fair" is "cubic_rtt".
	Aliases func() (map[string]string, error)
	// lacks names tracepoints that tests hide, to observe as on an older kernel.
	lacks []string
	// refuses names ways to attach, or the walk, that fail in tests of their replacements.
	refuses []string
}

// The defaults of Options.
const (
	// DefaultBufferBytes holds 32 768 records of one processor.
	DefaultBufferBytes = 8 << 20
	DefaultMaxFlows    = 65536
	minDrain           = 5 * time.Millisecond
	maxDrain           = 40 * time.Millisecond
	DefaultBatchTime   = 200 * time.Millisecond
	// batchRows is the number of rows in a block of the trace, so a batch becomes a block without
	// another copy. Half as many rows take a fifth more space and no less time. A power of two.
	batchRows = 4096
)

// ErrNoBTF means that the kernel's types are not known.
var ErrNoBTF = errors.New("the kernel exposes no BTF (/sys/kernel/btf/vmlinux)")

// loaded holds the kernel's objects of a source.
type loaded struct {
	rings   *rings
	coll    *ebpf.Collection
	links   []link.Link
	attach  Attach
	missing []string // tracepoints that the kernel lacks, with the loss
	hz      int
	types   *btf.Spec
	private map[string]*privateDecoder
	moreAt  int // place of the words of parts on demand in a sample's private state
}

func (l *loaded) Close() error {
	var errs []error
	for _, k := range l.links {
		errs = append(errs, k.Close())
	}
	if l.rings != nil {
		errs = append(errs, l.rings.close())
	}
	if l.coll != nil {
		l.coll.Close()
	}
	return errors.Join(errs...)
}

func load(o Options) (*loaded, error) {
	if err := o.Filter.Check(); err != nil {
		return nil, err
	}
	// This is refused without CAP_SYS_RESOURCE. Kernel 5.11 or newer does not need it: there the
	// memory counts to the cgroup.
	_ = rlimit.RemoveMemlock()
	types, err := kernelTypes(o.BTFPath)
	if err != nil {
		return nil, err
	}
	ways := []Attach{AttachTrusted, AttachTPBTF, AttachRawTP}
	if o.Attach != AttachAuto {
		ways = []Attach{o.Attach}
	}
	var why refusals
	var refused []string
	for _, way := range ways {
		l, err := loadEither(way, types, o)
		if err == nil {
			l.missing = append(refused, l.missing...)
			return l, nil
		}
		refused = append(refused, way.without(err))
		// If tp_btf is refused as well, its error names the cause.
		if way != AttachTrusted || o.Attach == AttachTrusted {
			why.add(way, err)
		}
	}
	return nil, explain(why.join())
}

// refusals are the ways to attach that the kernel refused. Ways with the same reason are one entry.
type refusals []refusal

type refusal struct {
	ways   string
	reason error
}

func (all *refusals) add(way Attach, reason error) {
	for i := range *all {
		if r := &(*all)[i]; r.reason.Error() == reason.Error() {
			r.ways += " and " + string(way)
			return
		}
	}
	*all = append(*all, refusal{string(way), reason})
}

// join makes them one error of one line, which wraps each.
func (all refusals) join() (err error) {
	for i, r := range all {
		if i == 0 {
			err = fmt.Errorf("as %s: %w", r.ways, r.reason)
		} else {
			err = fmt.Errorf("%w; as %s: %w", err, r.ways, r.reason)
		}
	}
	return err
}

// loadEither loads with the iterator or without: a kernel that takes the hooks may still refuse it,
// for it is a program type of its own.
func loadEither(way Attach, types *btf.Spec, o Options) (*loaded, error) {
	l, err := loadAs(way, true, types, o)
	if err == nil {
		return l, nil
	}
	l, retryErr := loadAs(way, false, types, o)
	if retryErr != nil {
		return nil, err
	}
	l.missing = append(
		l.missing,
		fmt.Sprintf(
			"idle connections: each is seen at its next segment only, since the kernel refused iter/tcp (5.9 "+
				"has it): %v",
			err,
		),
	)
	return l, nil
}

// without describes the cost of a way to attach that the kernel refused.
func (a Attach) without(refusal error) string {
	if a == AttachTrusted {
		return string(a) + ": each record costs more (kernel 6.9 has it)" // older ones refuse it as a wrong program
	}
	return fmt.Sprintf("%s: each record costs more, since the kernel refused it: %v", a, refusal)
}

// needsRoot is the error of a process without the necessary privileges. The kernel's texts about
// locked memory would not help its user.
type needsRoot struct{}

func (needsRoot) Error() string {
	return "loading BPF programs needs root, or CAP_BPF and CAP_PERFMON; --source diag does without"
}

// Is makes it an os.ErrPermission.
func (needsRoot) Is(target error) bool { return target == os.ErrPermission }

// explain adds a remedy to the usual refusals.
func explain(err error) error {
	switch {
	case errors.Is(err, unix.ENOMEM):
		return fmt.Errorf(
			"loading BPF programs (no memory for their maps: give a smaller --max-flows or --buffer-mb, or use "+
				"--source diag): %w", err,
		)
	case fewDescriptors():
		// Some of the probes of the kernel's features would blame the kernel.
		return fmt.Errorf(
			"loading BPF programs (%d open files are needed, ulimit -n allows fewer; or use --source diag): %w",
			descriptors, err,
		)
	case errors.Is(err, os.ErrPermission) && os.Geteuid() != 0:
		return needsRoot{}
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf(
			"loading BPF programs (run as root, or with CAP_BPF and CAP_PERFMON; or use --source diag): %w", err,
		)
	case errors.Is(err, ebpf.ErrNotSupported):
		return fmt.Errorf("loading BPF programs (kernel 5.10 or newer is needed; use --source diag): %w", err)
	}
	return fmt.Errorf("loading BPF programs: %w", err)
}

// descriptors is the number of open files that is enough to load all programs and maps.
const descriptors = 128

// fewDescriptors reports whether this process may not open that many files.
func fewDescriptors() bool {
	var limit unix.Rlimit
	return unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil && limit.Cur < descriptors
}

func kernelTypes(path string) (*btf.Spec, error) {
	if path != "" {
		spec, err := ReadTypes(path)
		if err != nil {
			return nil, fmt.Errorf("reading BTF from %s: %w", path, err)
		}
		return spec, nil
	}
	spec, err := btf.LoadKernelSpec()
	if err != nil {
		return nil, fmt.Errorf("%w: give the kernel's BTF with --btf FILE, or use --source diag: %w", ErrNoBTF, err)
	}
	return spec, nil
}

// loadAs loads the programs with one way to attach, and with the program that walks over the
// existing sockets if withWalk is set.
func loadAs(way Attach, withWalk bool, types *btf.Spec, o Options) (*loaded, error) {
	if slices.Contains(o.refuses, string(way)) || withWalk && slices.Contains(o.refuses, walkProgram) {
		return nil, errors.New("refused by a test")
	}
	spec, err := loadMonitor()
	if err != nil {
		return nil, fmt.Errorf("reading the embedded object: %w", err)
	}
	l := &loaded{attach: way, types: types}
	wanted, err := l.choose(o)
	if err != nil {
		return nil, err
	}
	more := l.chooseMore(o)
	for name := range spec.Programs {
		_, ok := wanted[name]
		ok = ok || wantsMore(name, more, o.With) || name == "jiffies_now" || name == walkProgram && withWalk
		if !ok {
			delete(spec.Programs, name)
		}
	}
	sizes, err := l.specialise(spec, o)
	if err != nil {
		return nil, err
	}
	opts := ebpf.CollectionOptions{Programs: ebpf.ProgramOptions{KernelTypes: types}}
	l.coll, err = ebpf.NewCollectionWithOptions(spec, opts)
	if err != nil {
		return nil, err
	}
	if err := l.begin(wanted, more, sizes, o); err != nil {
		_ = l.Close() // the error of begin says why
		return nil, err
	}
	return l, nil
}

// choose returns the hooks that the kernel has, by the names of their programs, and notes the
// missing ones. A hook without which the monitor cannot work is an error.
func (l *loaded) choose(o Options) (map[string]hook, error) {
	wanted := map[string]hook{}
	for _, h := range hooks {
		if h.Name == ownerTracepoint && o.NoOwners {
			continue
		}
		if o.argsOf(l.types, h.Name) < 0 {
			if h.Without == "" {
				return nil, fmt.Errorf("the kernel lacks the tracepoint %s (%s has it): use --source diag", h.Name,
					h.Since)
			}
			l.missing = append(l.missing, fmt.Sprintf("%s: %s (kernel %s has it)", h.Name, h.Without, h.Since))
			continue
		}
		wanted[h.program(l.attach)] = h
	}
	return wanted, nil
}

// specialise sets the sizes and constants of the programs for this kernel, and notes the parts that
// the kernel lacks.
func (l *loaded) specialise(spec *ebpf.CollectionSpec, o Options) (sizes ringSizes, err error) {
	private, undescribed := resolvePrivate(l.types)
	l.private = private
	l.missing = append(l.missing, undescribed...)
	if err := nameAliases(l.private, o.Aliases); err != nil {
		l.missing = append(l.missing,
			"private state of airtide's congestion controls under other names than their own: "+err.Error())
	}
	privateWords := 0
	for _, p := range l.private {
		privateWords = max(privateWords, p.at.words())
	}
	cpus, err := ebpf.PossibleCPU()
	if err != nil {
		return sizes, fmt.Errorf("counting the processors: %w", err)
	}
	buffer := o.BufferBytes
	if buffer <= 0 {
		buffer = DefaultBufferBytes
	}
	l.moreAt = privateWords
	sizes = sizesFor(cpus, buffer, 8*(privateWords+o.With.moreWords()))
	constants := sizes.configure(spec)
	constants["mon_cc_words_most"] = uint32(privateWords)
	if !TellsOfRefusals(l.types) {
		l.missing = append(
			l.missing,
			"the result of tcp_retransmit_skb: retransmissions that the own device refuses make no event "+
				"(kernel 6.17 has it)",
		)
	}
	return sizes, configure(spec, l.types, o, constants)
}

// begin opens the rings, fills the maps, attaches the programs and walks over existing sockets.
func (l *loaded) begin(wanted map[string]hook, more []string, sizes ringSizes, o Options) (err error) {
	l.rings, err = openRings(l.coll, sizes)
	if err != nil {
		return err
	}
	l.hz, err = tickRate(l.coll.Programs["jiffies_now"])
	if err != nil {
		return err
	}
	if err := bpffilter.FillSets(l.coll.Maps, &o.Filter); err != nil {
		return err
	}
	for name, p := range l.private {
		var key [16]byte
		copy(key[:15], name)
		if err := l.coll.Maps["cc_words"].Put(key, uint8(p.at.words())); err != nil {
			return fmt.Errorf("asking for the private state of %s: %w", name, err)
		}
	}
	// The state hooks come first, so that no flow is taken for an inherited one that was opened
	// meanwhile.
	for _, h := range append(hooks[1:len(hooks):len(hooks)], hooks[0]) {
		if err := l.attachHook(wanted, h); err != nil {
			return err
		}
	}
	if err := l.attachMore(more, o.With); err != nil {
		return err
	}
	if prog := l.coll.Programs[walkProgram]; prog != nil {
		l.missing = append(l.missing, walkAll(prog)...)
	}
	return nil
}

func (l *loaded) attachHook(wanted map[string]hook, h hook) error {
	name := h.program(l.attach)
	if _, ok := wanted[name]; !ok {
		return nil
	}
	prog := l.coll.Programs[name]
	var k link.Link
	var err error
	if l.attach == AttachRawTP {
		k, err = link.AttachRawTracepoint(link.RawTracepointOptions{Name: h.Name, Program: prog})
	} else {
		k, err = link.AttachTracing(link.TracingOptions{Program: prog})
	}
	if err != nil {
		return fmt.Errorf("attaching to %s: %w", h.Name, err)
	}
	l.links = append(l.links, k)
	return nil
}

// configure writes the constants that the programs are specialised with, beside those given.
func configure(spec *ebpf.CollectionSpec, types *btf.Spec, o Options, values map[string]any) error {
	if o.MaxFlows > 0 {
		spec.Maps["flows"].MaxEntries = uint32(o.MaxFlows)
	}
	if !o.With.has(WithHandshake) {
		spec.Maps["synacks"].MaxEntries = 1
	}
	if !allocatesInHooks(types) {
		spec.Maps["flows"].Flags &^= preallocateNot
	}
	if err := nameNamespace(values); err != nil {
		return err
	}
	maps.Copy(values, bpffilter.Constants(&o.Filter))
	maps.Copy(values, map[string]any{
		"mon_density": uint32(o.Density.Mode), "mon_density_ns": uint64(o.Density.Every),
		"mon_without_owners":        o.NoOwners,
		"mon_with":                  uint32(o.With),
		"mon_drop_has_reason":       TellsOfDropReasons(types),
		"mon_has_cong_state_set":    o.argsOf(types, "tcp_cong_state_set") >= 0,
		"mon_retransmit_has_result": TellsOfRefusals(types),
	})
	return bpffilter.SetConstants(spec, values)
}

// preallocateNot is BPF_F_NO_PREALLOC of include/uapi/linux/bpf.h.
const preallocateNot = 1

// allocatesInHooks reports whether a table may grow while a hook runs. Linux 6.1 gave BPF its own
// allocator. Before, the kernel logs a warning, because the hook may have interrupted the allocator
// (check_map_prealloc in kernel/bpf/verifier.c).
func allocatesInHooks(types *btf.Spec) bool {
	var allocator *btf.Struct
	return types.TypeByName("bpf_mem_alloc", &allocator) == nil
}

// nameNamespace tells the programs in which PID namespace this process is, so that processes have
// the ids that it and its user know: in a container those of the container.
func nameNamespace(constants map[string]any) error {
	inode, device, err := pidns.Self()
	if err != nil || inode == pidns.First {
		return err
	}
	// as the kernel writes it inside (MKDEV)
	constants["mon_pidns_dev"] = uint64(unix.Major(device))<<20 | uint64(unix.Minor(device))
	constants["mon_pidns_ino"] = inode
	return nil
}

// tickRate finds the kernel's CONFIG_HZ.
func tickRate(jiffies *ebpf.Program) (int, error) {
	hz, err := clock.TickRate(func() (uint32, error) { return jiffies.Run(&ebpf.RunOptions{}) })
	if err != nil {
		return 0, fmt.Errorf("finding the kernel's tick rate (BPF_PROG_TEST_RUN of raw_tp needs kernel 5.10): %w", err)
	}
	return hz, nil
}

// hasMember reports whether the kernel's structure has the member. A field without one is absent,
// not zero.
func hasMember(types *btf.Spec, structName, member string) bool {
	var s *btf.Struct
	if err := types.TypeByName(structName, &s); err != nil {
		return false
	}
	return memberIn(s.Members, member)
}

func memberIn(members []btf.Member, name string) bool {
	for _, m := range members {
		if m.Name == name {
			return true
		}
		if m.Name == "" {
			switch t := btf.UnderlyingType(m.Type).(type) {
			case *btf.Struct:
				if memberIn(t.Members, name) {
					return true
				}
			case *btf.Union:
				if memberIn(t.Members, name) {
					return true
				}
			}
		}
	}
	return false
}

func describeMissing(missing []string) string {
	if len(missing) == 0 {
		return ""
	}
	return "; missing " + strings.Join(missing, "; ")
}
