package doctor

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"
)

// Status is the outcome of a check.
type Status string

// The outcomes.
const (
	OK      Status = "ok"
	Limited Status = "limited" // works in part; the detail names the rest
	Missing Status = "missing" // the kernel or the machine does not have it
	Refused Status = "refused" // present, but refused although this process has the privileges
	Unknown Status = "unknown" // not tested, mostly because privileges are missing
)

// works reports whether dependents of the check can use the ability.
func (s Status) works() bool { return s == OK || s == Limited }

// finding is the result of one probe.
type finding struct {
	status Status
	detail string
	values []string // the ways or names found, for programs that read the JSON
}

func ok(detail string, values ...string) finding      { return finding{OK, detail, values} }
func missing(detail string, values ...string) finding { return finding{Missing, detail, values} }
func limited(detail string, values ...string) finding { return finding{Limited, detail, values} }
func unknown(detail string) finding                   { return finding{Unknown, detail, nil} }

// absentErrors are the errors that the kernel returns for unknown features.
var absentErrors = []error{
	ebpf.ErrNotSupported, btf.ErrNotFound, os.ErrNotExist, unix.ENOENT, unix.ENOSYS, unix.EOPNOTSUPP, unix.ENODEV,
	unix.ENXIO, unix.ENOPROTOOPT, unix.EPROTONOSUPPORT, unix.EAFNOSUPPORT,
}

// judge converts the result of a trial into a finding. needs are the capabilities that the trial
// requires: a refusal counts against the kernel only if this process has them.
func (m *machine) judge(err error, needs ...capability) finding {
	var verifier *ebpf.VerifierError
	switch {
	case err == nil:
		return ok("")
	case errors.As(err, &verifier) && len(verifier.Log) > 0 && !errors.Is(err, unix.EPERM):
		return missing("refused by the verifier: " + lastLine(verifier.Log))
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		if lack := m.lacking(needs); len(lack) > 0 {
			return needsRoot(lack)
		}
		return finding{Refused, "present but refused: " + shortError(err), nil}
	}
	for _, absent := range absentErrors {
		if errors.Is(err, absent) {
			return missing("not in this kernel (" + shortError(err) + ")")
		}
	}
	return unknown(err.Error())
}

// judgeBPF is judge for the bpf system call, which returns EINVAL or E2BIG for unknown features.
// besides are capabilities that the trial needs in addition to CAP_BPF and CAP_PERFMON.
func (m *machine) judgeBPF(err error, besides ...capability) finding {
	needs := append([]capability{capBPF, capPerfmon}, besides...)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.E2BIG) {
		err = fmt.Errorf("%w: %w", ebpf.ErrNotSupported, err)
	}
	f := m.judge(err, needs...)
	if lack := m.lacking(needs); f.status == Unknown && len(lack) > 0 {
		// Without privileges, the library's own feature detection fails with unrelated errors.
		return needsRoot(lack)
	}
	return f
}

func needsRoot(lack []string) finding {
	return unknown("needs root (" + strings.Join(lack, ", ") + ")")
}

// lastLine returns the verifier's objection. It is the last line before the statistics.
func lastLine(log []string) string {
	for i := len(log) - 1; i >= 0; i-- {
		line := strings.TrimSpace(log[i])
		if line != "" && !strings.HasPrefix(line, "processed ") && !strings.HasPrefix(line, "verification time") {
			return line
		}
	}
	return "no reason given"
}

// shortError returns the text of the kernel's error number, or of the whole error if it has no
// number.
func shortError(err error) string {
	var errno unix.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	if errors.Is(err, ebpf.ErrNotSupported) {
		return "not supported"
	}
	return err.Error()
}
