//go:build kernel

package doctor

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"

	"airtide/internal/kernel/sockets/owner"
	source "airtide/internal/observe/bpf"
	"airtide/internal/sys/tool"
	rights "airtide/test/need"
	"airtide/test/testnet"
)

// The kernel's own list of events is an independent witness for the tracepoints.
func TestTracepointsAgreeWithTracefs(t *testing.T) {
	rights.Root(t)
	tracefs := t.TempDir()
	if err := syscall.Mount("tracefs", tracefs, "tracefs", 0, ""); err != nil {
		t.Fatalf("mounting tracefs: %v", err)
	}
	defer syscall.Unmount(tracefs, syscall.MNT_DETACH)
	text, err := os.ReadFile(filepath.Join(tracefs, "available_events"))
	if err != nil {
		t.Fatal(err)
	}
	events := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		_, name, _ := strings.Cut(strings.TrimSpace(line), ":")
		events[name] = true
	}
	report := examine(t, Options{})
	for _, p := range slices.Concat(source.Tracepoints(), unusedTracepoints) {
		if got := statusOf(t, report, p.Name).works(); got != events[p.Name] {
			t.Errorf("%s: found %v, but tracefs says %v", p.Name, got, events[p.Name])
		}
	}
	m, err := newMachine(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f := probeTracepoint(m, "tcp_no_such_thing"); f.status != Missing {
		t.Errorf("a tracepoint that does not exist is %s (%s)", f.status, f.detail)
	}
}

// The kernel's build configuration is an independent witness for most of the other checks.
func TestFindingsAgreeWithKernelConfig(t *testing.T) {
	rights.Root(t)
	if kernelConfig("CONFIG_NET") != "y" {
		t.Skip("the configuration of this kernel is not available")
	}
	report := examine(t, Options{})
	for name, option := range map[string]string{
		"veth": "CONFIG_VETH", "bridge": "CONFIG_BRIDGE", "macvtap": "CONFIG_MACVTAP", "tap": "CONFIG_TUN",
		"tun":               "CONFIG_TUN",
		"network_namespace": "CONFIG_NET_NS", "qdisc_netem": "CONFIG_NET_SCH_NETEM", "qdisc_fq": "CONFIG_NET_SCH_FQ",
		"qdisc_tbf": "CONFIG_NET_SCH_TBF", "qdisc_htb": "CONFIG_NET_SCH_HTB", "qdisc_clsact": "CONFIG_NET_SCH_INGRESS",
		"btf": "CONFIG_DEBUG_INFO_BTF", "inet_diag": "CONFIG_INET_TCP_DIAG",
		"cubic": "CONFIG_TCP_CONG_CUBIC", "bbr": "CONFIG_TCP_CONG_BBR", "loadable_modules": "CONFIG_MODULES",
	} {
		status := statusOf(t, report, name)
		switch kernelConfig(option) {
		case "y":
			if status == Missing || status == Unknown {
				t.Errorf("%s is %s, but the kernel was built with %s", name, status, option)
			}
		case "":
			if status != Missing {
				t.Errorf("%s is %s, but the kernel was built without %s", name, status, option)
			}
		}
	}
}

// The monitor's source makes the same trials when it is opened and reports what is missing.
func TestFindingsAgreeWithTheSource(t *testing.T) {
	rights.Root(t)
	report := examine(t, Options{})
	open := func(way source.Attach) (description string, err error) {
		s, err := source.Open(source.Options{Attach: way, MaxFlows: 16, BufferBytes: 64 << 10})
		if err != nil {
			return "", err
		}
		return s.Description(), s.Close()
	}
	for _, way := range []source.Attach{source.AttachTrusted, source.AttachTPBTF, source.AttachRawTP} {
		if _, err := open(way); (err == nil) != statusOf(t, report, string(way)).works() {
			t.Errorf("%s is %s, but opening the source by it says %v", way, statusOf(t, report, string(way)), err)
		}
	}
	description, err := open(source.AttachAuto)
	if v, _ := report.Verb(Monitor); (err == nil) != (v.Way == bpf) {
		t.Errorf("monitor is %s by %q, but opening the source says %v", v.Verdict, v.Way, err)
	}
	if err != nil {
		return
	}
	said := map[string]string{
		"tcp_retransmit_result": "the result of tcp_retransmit_skb:",
		"iter_tcp":              "idle connections:",
	}
	for _, p := range source.Tracepoints() {
		said[p.Name] = "; " + p.Name + ":"
	}
	for name, words := range said {
		if got := statusOf(t, report, name); got.works() == strings.Contains(description, words) {
			t.Errorf("%s is %s, but the source says %s", name, got, description)
		}
	}
}

// The trial detects the tag, not mere support of global functions or of their arguments.
func TestTrustedArgumentsAreRecognisedByTheirTag(t *testing.T) {
	rights.Root(t)
	var refusal *ebpf.VerifierError
	if err := attachTypedTracepoint("tcp_probe", trustedProgram()); !errors.As(err, &refusal) {
		t.Errorf("an argument without the tag is trusted: %v", err)
	}
}

// ip and tc make the same trials by other code.
func TestLinksAndQdiscsAgreeWithIproute(t *testing.T) {
	rights.Root(t)
	for _, name := range []string{"unshare", "ip", "tc"} {
		if _, err := tool.Find(name); err != nil {
			t.Skipf("%s is not installed", name)
		}
	}
	report := examine(t, Options{})
	for name, command := range map[string]string{
		"veth":         "ip link add name a type veth peer name b",
		"bridge":       "ip link add name a type bridge",
		"macvtap":      "ip link add name a type veth peer name b && ip link add link a name c type macvtap",
		"tap":          "ip tuntap add dev a mode tap",
		"qdisc_netem":  "tc qdisc add dev lo root netem delay 1ms",
		"qdisc_fq":     "tc qdisc add dev lo root fq",
		"qdisc_tbf":    "tc qdisc add dev lo root tbf rate 1mbit burst 10kb latency 50ms",
		"qdisc_htb":    "tc qdisc add dev lo root htb",
		"qdisc_clsact": "tc qdisc add dev lo clsact",
	} {
		output, err := exec.Command("unshare", "--net", "sh", "-c", "PATH=$PATH:/usr/sbin:/sbin; "+command).
			CombinedOutput()
		if got := statusOf(t, report, name); (err == nil) != (got == OK) {
			t.Errorf("%s is %s, but %q says %v: %s", name, got, command, err, output)
		}
	}
}

// leftovers lists the objects that an examination creates and must remove.
func leftovers(t *testing.T) []string {
	t.Helper()
	var found []string
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range interfaces {
		if slices.Contains([]string{"trial", "peer", "lower"}, i.Name) {
			found = append(found, "link "+i.Name)
		}
	}
	own := fmt.Sprintf("airtide%d", os.Getpid())
	if slices.Contains(strings.Fields(readText(sysctlIPv4+"tcp_available_congestion_control")), own) {
		found = append(found, "congestion control "+own)
	}
	if mount, err := owner.CgroupMount(); err == nil {
		if _, err := os.Stat(filepath.Join(mount, fmt.Sprintf("airtide-doctor-%d", os.Getpid()))); err == nil {
			found = append(found, "cgroup")
		}
	}
	home, _ := os.Readlink("/proc/self/ns/net")
	threads, _ := filepath.Glob("/proc/self/task/*/ns/net")
	for _, thread := range threads {
		if space, err := os.Readlink(thread); err == nil && space != home {
			found = append(found, thread+" is in "+space)
		}
	}
	return append(found, ownPrograms(t)...)
}

// ownPrograms lists the BPF programs that this process still has open.
func ownPrograms(t *testing.T) []string {
	t.Helper()
	var found []string
	infos, _ := filepath.Glob("/proc/self/fdinfo/*")
	for _, path := range infos {
		f, err := os.Open(path)
		if err != nil {
			continue // closed since
		}
		for lines := bufio.NewScanner(f); lines.Scan(); {
			key, _, _ := strings.Cut(lines.Text(), ":")
			if slices.Contains([]string{"prog_id", "link_id", "map_id"}, key) {
				found = append(found, path+" "+lines.Text())
			}
		}
		f.Close()
	}
	return found
}

func TestNothingIsLeftBehind(t *testing.T) {
	rights.Root(t)
	home, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	examine(t, Options{})
	if now, _ := os.Readlink("/proc/self/ns/net"); now != home {
		t.Fatalf("the process was in network namespace %s and is in %s", home, now)
	}
	// The kernel frees programs a little after they are closed.
	var left []string
	gone := testnet.Await(3*time.Second, func() bool {
		left = append(leftovers(t), loadedTrials(t)...)
		return len(left) == 0
	})
	if !gone {
		t.Errorf("left behind: %s", strings.Join(left, ", "))
	}
}

// loadedTrials lists the trials' programs that are still in the kernel, of any process. Another
// examination that runs at the same time shows here too, but only for moments.
func loadedTrials(t *testing.T) []string {
	t.Helper()
	var found []string
	for id := ebpf.ProgramID(0); ; {
		next, err := ebpf.ProgramGetNextID(id)
		if errors.Is(err, os.ErrNotExist) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		id = next
		prog, err := ebpf.NewProgramFromID(id)
		if err != nil {
			continue // freed since
		}
		if info, err := prog.Info(); err == nil && info.Name == "airtide_doctor" {
			found = append(found, fmt.Sprintf("program %d", id))
		}
		prog.Close()
	}
}

func TestNobodyGetsAReport(t *testing.T) {
	rights.Root(t)
	folder, err := os.MkdirTemp("", "doctor-test")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(folder)
	binary := filepath.Join(folder, "doctor")
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(folder, 0o755), os.WriteFile(binary, self, 0o755)); err != nil {
		t.Fatal(err)
	}
	const nobody = 65534
	cmd := exec.Command(binary)
	cmd.Dir = "/"
	cmd.Env = append(os.Environ(), asChild+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	cmd.Stderr = os.Stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Usable bool
		Verbs  []VerbResult
		Report
	}
	if err := json.Unmarshal(output, &report); err != nil {
		t.Fatal(err)
	}
	report.Report.Verbs = report.Verbs
	if report.Machine.UserID != nobody || !report.Usable {
		t.Errorf("user %d, usable %v: want %d and true, for inet_diag takes no privileges", report.Machine.UserID,
			report.Usable, nobody)
	}
	asRoot := examine(t, Options{})
	for _, name := range []string{
		"bpf_array_mmap", "tp_btf_trusted", "raw_tp_test_run", "iter_tcp", "struct_ops_link",
		"network_namespace", "tap", "qdisc_tbf",
	} {
		if status := statusOf(t, &report.Report, name); status != Unknown {
			t.Errorf("%s is %s for nobody, want unknown", name, status)
		}
	}
	for _, name := range []string{"btf", "inet_diag", "tcp_info", "cubic", "loadable_modules"} {
		if got, want := statusOf(t, &report.Report, name), statusOf(t, asRoot, name); got != want {
			t.Errorf("%s is %s for nobody and %s for root", name, got, want)
		}
	}
	if v, _ := report.Report.Verb(Monitor); v.Verdict != Degraded || v.Way != diag {
		t.Errorf("monitor is %s by %q for nobody, want degraded by diag", v.Verdict, v.Way)
	}
}
