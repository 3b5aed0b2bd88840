package doctor

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
)

// keysOf collects the names of all members at each level of a JSON value.
func keysOf(v any, at string, into map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			into[at+k] = true
			keysOf(inner, at+k+".", into)
		}
	case []any:
		for _, inner := range v {
			keysOf(inner, at, into)
		}
	}
}

// Scripts rely on these names.
func TestJSONNames(t *testing.T) {
	text, err := json.Marshal(reportWith(map[string]Status{"btf": Missing}))
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	keysOf(value, "", keys)
	want := []string{
		"checks", "checks.detail", "checks.group", "checks.loss", "checks.name", "checks.needed_by",
		"checks.needed_by.level", "checks.needed_by.verb", "checks.needed_by.way", "checks.remedy", "checks.status",
		"checks.values",
		"machine", "machine.architecture", "machine.capabilities", "machine.cpus", "machine.distribution",
		"machine.kernel_release", "machine.memory_bytes", "machine.user_id", "usable",
		"verbs", "verbs.lacks", "verbs.lacks.check", "verbs.lacks.level", "verbs.lacks.loss", "verbs.lacks.status",
		"verbs.lacks.way",
		"verbs.loss", "verbs.verb", "verbs.verdict", "verbs.way",
	}
	if got := slices.Sorted(maps.Keys(keys)); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestCheckNames(t *testing.T) {
	want := strings.Fields(`
		btf bpf_jit lockdown loadable_modules kernel_headers clock_source cgroup_v2
		cap_bpf cap_perfmon cap_net_admin cap_net_raw cap_sys_admin cap_sys_nice cap_sys_ptrace cap_sys_module
		cap_sys_resource seccomp_filters landlock
		tp_btf tp_btf_trusted raw_tp raw_tp_test_run tcp_probe inet_sock_set_state tcp_destroy_sock tcp_retransmit_skb
		tcp_cong_state_set tcp_receive_reset tcp_send_reset tcp_rcv_space_adjust tcp_retransmit_result
		kfree_skb tcp_retransmit_synack net_dev_start_xmit tcp_sendmsg_locked drop_reasons tcp_rcvbuf_grow
		bpf_memory_limit bpf_array_mmap bpf_probe_read_kernel bpf_skc_to_tcp_sock iter_tcp sock_ops
		sock_ops_attach iter_tcp_setsockopt
		struct_ops struct_ops_link tcx
		inet_diag tcp_info congestion_controls cubic bbr max_pacing_rate tcp_rto_max_ms tcp_rto_min_us
		sysctl_tcp_rto_min_us nl80211
		network_namespace veth bridge macvtap tap tun qdisc_netem qdisc_fq qdisc_tbf qdisc_htb qdisc_clsact
		kvm timewarp_module timewarp_counter timewarp_functions unsigned_modules sock_ops_initial_rto ip iperf3
		apache curl ping tcpdump adb qemu`)
	var got []string
	for _, c := range registry() {
		got = append(got, c.name)
	}
	if !slices.Equal(got, want) {
		t.Errorf("the names of the checks are\n%q, want\n%q", got, want)
	}
}

func TestTextSaysEverythingOnce(t *testing.T) {
	report := reportWith(
		map[string]Status{"btf": Missing, "tcp_probe": Unknown, "cap_sys_ptrace": Missing, "kvm": Missing},
	)
	var plainText, coloured bytes.Buffer
	if err := report.WriteText(&plainText, false); err != nil {
		t.Fatal(err)
	}
	if err := report.WriteText(&coloured, true); err != nil {
		t.Fatal(err)
	}
	text := plainText.String()
	for _, want := range []string{
		"Linux 6.1.0 x86_64, Debian, 2 CPUs, 2.0 GiB, root\n",
		"  ready       doctor, info, diagnose, export, plot, packets, fairness: needs nothing of the kernel\n",
		"  degraded    monitor, record by source diag: polled by inet_diag",
		"  cannot run  cc, tune, share\n              - btf: BPF programs cannot be adapted to this kernel (remedy: " +
			"a kernel with CONFIG_DEBUG_INFO_BTF=y",
		"              - lacks the rights cap_sys_ptrace\n",
		"  rights      remedy: run as root, or give the binary the right with setcap\n",
		"              - not tested: tcp_probe\n",
		"\nkernel\n  missing  btf                    detail of btf\n",
		"  ok       inet_diag\n",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("%q stands %d times in\n%s", want, strings.Count(text, want), text)
		}
	}
	if strings.Contains(text, "\x1b") || strings.Contains(text, " \n") {
		t.Error("the plain text has colours or trailing blanks")
	}
	if !strings.Contains(coloured.String(), red+"missing"+plain+"  btf") {
		t.Error("what monitor lacks is not red")
	}
	if strings.Contains(coloured.String(), red+"missing"+plain+"  kvm") {
		t.Error("what nothing in this build needs is red")
	}
	for _, code := range []string{green, yellow, red, bold, plain} {
		coloured = *bytes.NewBuffer(bytes.ReplaceAll(coloured.Bytes(), []byte(code), nil))
	}
	if coloured.String() != text {
		t.Error("the coloured text differs in more than colours")
	}
}

func TestTextOfUselessMachine(t *testing.T) {
	var text bytes.Buffer
	if err := reportWith(
		map[string]Status{
			"btf": Missing, "inet_diag": Missing, "network_namespace": Missing, "loadable_modules": Missing,
		},
	).WriteText(&text, false); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"  cannot run  monitor, record\n", "- inet_diag: sockets cannot be " +
		"polled", "no verb that needs the kernel can run here\n"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
}
