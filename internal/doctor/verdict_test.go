package doctor

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	source "airtide/internal/observe/bpf"
)

// resultsWith returns results in which every check works except the given ones.
func resultsWith(changed map[string]Status) []Result {
	var results []Result
	for _, c := range registry() {
		r := Result{
			Name:     c.name,
			Group:    c.group,
			Status:   OK,
			Loss:     c.loss,
			Remedy:   c.remedy,
			NeededBy: append([]Need{}, c.needs...),
		}
		if s, found := changed[c.name]; found {
			r.Status = s
			r.Detail = "detail of " + c.name
		}
		results = append(results, r)
	}
	return results
}

func reportWith(changed map[string]Status) *Report {
	r := &Report{Checks: resultsWith(changed), Machine: Machine{
		KernelRelease: "6.1.0", Architecture: "x86_64", Distribution: "Debian", CPUs: 2, MemoryBytes: 1 << 31,
		Capabilities: []string{},
	}}
	r.judgeVerbs()
	return r
}

func TestVerdictOnMonitor(t *testing.T) {
	for _, c := range []struct {
		name    string
		changed map[string]Status
		verdict Verdict
		way     way
		lacks   []string
		usable  bool
	}{
		{"everything is there", nil, Ready, bpf, nil, true},
		{
			"what it does not use is missing", map[string]Status{
				"fentry": Refused, "kprobe": Missing, "qdisc_netem": Missing, "kvm": Missing,
				"tcp_retransmit_synack": Missing,
			}, Ready, bpf, nil, true,
		},
		{
			"an optional tracepoint is missing", map[string]Status{
				"tcp_cong_state_set": Missing,
			}, Degraded, bpf, []string{"tcp_cong_state_set"}, true,
		},
		{
			"idle connections cannot be found",
			map[string]Status{"iter_tcp": Missing},
			Degraded, bpf,
			[]string{"iter_tcp"},
			true,
		},
		{
			"the hook at each ACK costs more",
			map[string]Status{"tp_btf_trusted": Missing},
			Degraded, bpf,
			[]string{"tp_btf_trusted"},
			true,
		},
		{
			"refused retransmissions are not told", map[string]Status{
				"tcp_retransmit_result": Missing,
			}, Degraded, bpf, []string{"tcp_retransmit_result"}, true,
		},
		{
			"the rate of ticks cannot be found",
			map[string]Status{"raw_tp_test_run": Missing},
			Degraded, diag,
			[]string{"raw_tp_test_run"},
			true,
		},
		{
			"sockets cannot be followed",
			map[string]Status{"bpf_probe_read_kernel": Missing},
			Degraded, diag,
			[]string{"bpf_probe_read_kernel"},
			true,
		},
		{
			"namespaces cannot be entered",
			map[string]Status{"cap_sys_admin": Missing},
			Degraded, bpf,
			[]string{"cap_sys_admin"},
			true,
		},
		{
			"something works in part",
			map[string]Status{"clock_source": Limited},
			Degraded, bpf,
			[]string{"clock_source"},
			true,
		},
		{"no BTF", map[string]Status{"btf": Missing, "tp_btf": Missing}, Degraded, diag, []string{"btf"}, true},
		{
			"no privileges",
			map[string]Status{"cap_bpf": Missing, "cap_perfmon": Missing, "tcp_probe": Unknown},
			Degraded, diag,
			[]string{"cap_bpf", "cap_perfmon", "tcp_probe"},
			true,
		},
		{"no inet_diag costs the bpf source nothing", map[string]Status{"inet_diag": Missing}, Ready, bpf, nil, true},
		{
			"neither source",
			map[string]Status{"bpf_array_mmap": Missing, "inet_diag": Missing, "tcp_send_reset": Missing},
			CannotRun, "",
			[]string{"bpf_array_mmap", "inet_diag"},
			true,
		},
		{
			"nothing that needs the kernel", map[string]Status{
				"bpf_array_mmap": Missing, "inet_diag": Missing, "network_namespace": Missing,
				"struct_ops": Missing, "sock_ops": Missing, "loadable_modules": Missing,
			}, CannotRun, "", []string{"bpf_array_mmap", "inet_diag"}, false,
		},
		{
			"polled values work in part", map[string]Status{
				"btf": Missing, "tcp_info": Limited,
			}, Degraded, diag, []string{"btf", "tcp_info"}, true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			report := reportWith(c.changed)
			v, found := report.Verb(Monitor)
			if !found {
				t.Fatal("no verdict on monitor")
			}
			var lacks []string
			for _, l := range v.Lacks {
				lacks = append(lacks, l.Check)
				if l.Loss == "" {
					t.Errorf("%s: its loss is not said", l.Check)
				}
			}
			slices.Sort(lacks)
			if v.Verdict != c.verdict || v.Way != c.way || !slices.Equal(lacks, c.lacks) {
				t.Errorf("got %s by %q lacking %q, want %s by %q lacking %q", v.Verdict, v.Way, lacks, c.verdict, c.way,
					c.lacks)
			}
			if report.Usable() != c.usable {
				t.Errorf("usable is %v, want %v", report.Usable(), c.usable)
			}
			if info, _ := report.Verb(Info); info.Verdict != Ready {
				t.Errorf("info only reads files and is %s", info.Verdict)
			}
		})
	}
}

// The monitor's source itself lists the tracepoints it needs and the use of the others.
func TestTracepointsCostWhatTheSourceSays(t *testing.T) {
	for _, p := range source.Tracepoints() {
		for _, name := range []Verb{Monitor, Record} {
			v, found := reportWith(map[string]Status{p.Name: Missing}).Verb(name)
			if !found || v.Verdict != Degraded || len(v.Lacks) != 1 || v.Lacks[0].Check != p.Name {
				t.Fatalf("%s without %s: %+v", name, p.Name, v)
			}
			if needed := p.Without == ""; needed != (v.Way == diag) || !needed && v.Lacks[0].Loss != p.Without {
				t.Errorf("%s without %s is by %q and loses %q, but the source says %q", name, p.Name, v.Way,
					v.Lacks[0].Loss, p.Without)
			}
		}
	}
}

// Without cgroups, neither source can tell a command's connections from others (record/command.go).
func TestRecordIsDegradedWithoutCgroups(t *testing.T) {
	v, found := reportWith(map[string]Status{"cgroup_v2": Missing, "btf": Missing}).Verb(Record)
	if !found || v.Verdict != Degraded || v.Way != diag ||
		!slices.ContainsFunc(v.Lacks, func(l Lack) bool { return l.Check == "cgroup_v2" }) {
		t.Errorf("got %+v, want that record lacks cgroup_v2", v)
	}
}

func TestShareCannotRunWithoutStructOps(t *testing.T) {
	v, found := reportWith(map[string]Status{"struct_ops": Missing}).Verb(Share)
	if !found || v.Verdict != CannotRun || len(v.Lacks) != 1 || v.Lacks[0].Check != "struct_ops" {
		t.Errorf("got %+v, want that share cannot run for want of struct_ops", v)
	}
}

func TestDownloadsAreUnboundedWithoutTCX(t *testing.T) {
	v, found := reportWith(map[string]Status{"tcx": Missing}).Verb(Share)
	if !found || v.Verdict != Degraded || len(v.Lacks) != 1 || v.Lacks[0].Check != "tcx" {
		t.Errorf("got %+v, want that share is degraded for want of TCX", v)
	}
}

func TestRegistryIsConsistent(t *testing.T) {
	snake := regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	seen := map[string]bool{}
	for _, c := range registry() {
		if !snake.MatchString(c.name) || seen[c.name] {
			t.Errorf("%q: not in snake case, or twice", c.name)
		}
		seen[c.name] = true
		if !slices.Contains(groups, c.group) {
			t.Errorf("%s: group %q is not in the report", c.name, c.group)
		}
		if c.loss == "" || len(c.needs) > 0 && c.remedy == "" {
			t.Errorf("%s: says not what its absence costs or how to get it", c.name)
		}
		for _, n := range c.needs {
			i := slices.IndexFunc(verbTable, func(v verb) bool { return v.name == n.Verb })
			if i < 0 {
				t.Errorf("%s: needed by %q, which is no verb", c.name, n.Verb)
			} else if n.Way != "" &&
				!slices.ContainsFunc(verbTable[i].ways, func(w wayOf) bool { return w.name == n.Way }) {
				t.Errorf("%s: needed by %s for the way %q, which it does not have", c.name, n.Verb, n.Way)
			}
		}
	}
}

func TestRefusedIsNotAbsent(t *testing.T) {
	root := &machine{effective: 1<<capSysAdmin | 1<<capNetAdmin}
	nobody := &machine{}
	for _, c := range []struct {
		name   string
		m      *machine
		err    error
		status Status
		detail string
	}{
		{"success", root, nil, OK, ""},
		{"refused to root", root, fmt.Errorf("attaching: %w", unix.EPERM), Refused, "operation not permitted"},
		{"refused to a user", nobody, fmt.Errorf("attaching: %w", unix.EPERM), Unknown, "needs root (cap_bpf, " +
			"cap_perfmon)"},
		{"a file that may not be opened", nobody, &os.PathError{Op: "open", Err: unix.EACCES}, Unknown, "needs root"},
		{"absent", root, fmt.Errorf("attaching: %w", os.ErrNotExist), Missing, "not in this kernel"},
		{
			"absent for a user too", nobody, fmt.Errorf("adding: %w", unix.EOPNOTSUPP), Missing,
			"operation not supported",
		},
		{"unknown to the bpf system call", root, unix.EINVAL, Missing, "invalid argument"},
		{"unknown to the library", root, ebpf.ErrNotSupported, Missing, "not supported"},
		{
			"disliked by the verifier", root,
			&ebpf.VerifierError{
				Cause: unix.EACCES,
				Log:   []string{"0: (85) call", "R1 type=ctx expected=fp", "processed 1 insns", ""},
			},
			Missing, "R1 type=ctx expected=fp",
		},
		{"some other error", root, errors.New("out of cheese"), Unknown, "out of cheese"},
		{"some other error of a user", nobody, errors.New("cannot look around"), Unknown, "needs root"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := c.m.judgeBPF(c.err)
			if f.status != c.status || !strings.Contains(f.detail, c.detail) {
				t.Errorf("got %s %q, want %s %q", f.status, f.detail, c.status, c.detail)
			}
		})
	}
}
