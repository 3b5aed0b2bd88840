package doctor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"airtide/internal/kernel/nl80211"
	"airtide/internal/tcp"
)

// Socket options that golang.org/x/sys/unix does not name yet (include/uapi/linux/tcp.h).
const (
	tcpRTOMaxMs = 44 // TCP_RTO_MAX_MS, Linux 6.15
	tcpRTOMinUs = 45 // TCP_RTO_MIN_US, Linux 6.15
)

const sysctlIPv4 = "/proc/sys/net/ipv4/"

var socketChecks = []check{
	{
		name:   "inet_diag",
		group:  groupSockets,
		probe:  func(m *machine) finding { return m.judge(askInetDiag()) },
		needs:  need(required, diag, Monitor, Record),
		loss:   "sockets cannot be polled",
		remedy: "a kernel with CONFIG_INET_DIAG and CONFIG_INET_TCP_DIAG",
	},
	{
		name:   "tcp_info",
		group:  groupSockets,
		probe:  probeTCPInfo,
		needs:  need(required, diag, Monitor, Record),
		loss:   "no values of connections can be polled",
		remedy: "kernel 4.10 or newer",
	},
	{
		name:   "congestion_controls",
		group:  groupSockets,
		probe:  probeCongestionControls,
		loss:   "no congestion control is known",
		remedy: "mount /proc",
	},
	{
		name:   "cubic",
		group:  groupSockets,
		probe:  func(m *machine) finding { return findCongestionControl(m, "cubic") },
		needs:  need(optional, "", Lab, Share),
		loss:   "experiments with CUBIC cannot be run",
		remedy: "modprobe tcp_cubic",
	},
	{
		name:   "bbr",
		group:  groupSockets,
		probe:  func(m *machine) finding { return findCongestionControl(m, "bbr") },
		needs:  need(optional, "", Lab),
		loss:   "experiments with BBR cannot be run",
		remedy: "modprobe tcp_bbr",
	},
	{
		name:   "max_pacing_rate",
		group:  groupSockets,
		probe:  func(m *machine) finding { return probeOption(m, unix.SOL_SOCKET, unix.SO_MAX_PACING_RATE, 1<<30) },
		needs:  need(optional, "", Tune),
		loss:   "rates cannot be bounded by pacing",
		remedy: "kernel 3.13 or newer",
	},
	{
		name:   "tcp_rto_max_ms",
		group:  groupSockets,
		probe:  func(m *machine) finding { return probeOption(m, unix.IPPROTO_TCP, tcpRTOMaxMs, 60_000) },
		needs:  need(optional, "", Tune),
		loss:   "the longest RTO of a socket cannot be set",
		remedy: "kernel 6.15 or newer",
	},
	{
		name:   "tcp_rto_min_us",
		group:  groupSockets,
		probe:  func(m *machine) finding { return probeOption(m, unix.IPPROTO_TCP, tcpRTOMinUs, 100_000) },
		needs:  need(optional, "", Tune),
		loss:   "the shortest RTO of a socket cannot be set",
		remedy: "kernel 6.15 or newer",
	},
	{
		name:   "sysctl_tcp_rto_min_us",
		group:  groupSockets,
		probe:  probeRTOSysctl,
		needs:  need(optional, "", Tune),
		loss:   "the shortest RTO can be raised by a route only",
		remedy: "kernel 6.11 or newer",
	},
	{
		name:   "nl80211",
		group:  groupSockets,
		probe:  probeNL80211,
		loss:   "--with radio: the Wi-Fi radio is not observed",
		remedy: "modprobe cfg80211 (CONFIG_CFG80211)",
	},
}

// probeNL80211 lists the Wi-Fi interfaces, and those whose driver tells the channel's busy time.
func probeNL80211(*machine) finding {
	client, err := nl80211.Open()
	if errors.Is(err, nl80211.ErrMissing) {
		return missing("not in this kernel, or not loaded")
	}
	if err != nil {
		return unknown(err.Error())
	}
	defer client.Close()
	all, err := client.Interfaces()
	if err != nil {
		return unknown(err.Error())
	}
	if len(all) == 0 {
		return ok("no Wi-Fi interface here")
	}
	var names []string
	for _, i := range all {
		name := i.Name
		survey, known, err := client.Channel(&i)
		if err == nil && known && survey.Values[tcp.RadioBusyMs] != tcp.Absent {
			name += " (tells how busy its channel is)"
		}
		names = append(names, name)
	}
	return ok("", names...)
}

// inetDiagRequestBytes is the size of struct inet_diag_req_v2 (include/uapi/linux/inet_diag.h).
const inetDiagRequestBytes = 56

// askInetDiag requests the TCP sockets in an empty set of states. The kernel answers at once and
// requires no privileges.
func askInetDiag() error {
	conn, err := netlink.Dial(unix.NETLINK_SOCK_DIAG, nil)
	if err != nil {
		return fmt.Errorf("opening inet_diag: %w", err)
	}
	defer conn.Close()
	request := make([]byte, inetDiagRequestBytes)
	request[0] = unix.AF_INET
	request[1] = unix.IPPROTO_TCP
	const sockDiagByFamily = 20 // SOCK_DIAG_BY_FAMILY
	_, err = conn.Execute(netlink.Message{
		Header: netlink.Header{Type: sockDiagByFamily, Flags: netlink.Request | netlink.Dump}, Data: request,
	})
	if err != nil {
		return fmt.Errorf("asking inet_diag for TCP sockets: %w", err)
	}
	return nil
}

func withSocket(do func(fd int) error) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if err != nil {
		return fmt.Errorf("opening a TCP socket: %w", err)
	}
	defer unix.Close(fd)
	return do(fd)
}

// probeTCPInfo reads the length of the kernel's struct tcp_info, which never shrinks. 192 bytes
// include the chronographs (Linux 4.10), and 224 bytes include bytes_retrans, dsack_dups and
// reord_seen (4.19).
func probeTCPInfo(m *machine) finding {
	var info [1024]byte
	size := uint32(len(info))
	err := withSocket(func(fd int) error {
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP, unix.TCP_INFO,
			uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
		if errno != 0 {
			return errno
		}
		return nil
	})
	const toChronographs, toReordering = 192, 224
	switch detail := fmt.Sprintf("%d bytes", size); {
	case err != nil:
		return m.judge(err)
	case size < toChronographs:
		return limited(detail + ": no delivery rate, no times of being limited")
	case size < toReordering:
		return limited(detail + ": no retransmitted bytes, no DSACK and reordering counts")
	default:
		return ok(detail)
	}
}

func probeCongestionControls(*machine) finding {
	available := strings.Fields(readText(sysctlIPv4 + "tcp_available_congestion_control"))
	if len(available) == 0 {
		return unknown("net.ipv4.tcp_available_congestion_control cannot be read")
	}
	return ok(fmt.Sprintf(
		"%s; by default %s; without privileges %s", strings.Join(available, " "),
		readText(sysctlIPv4+"tcp_congestion_control"), readText(sysctlIPv4+"tcp_allowed_congestion_control"),
	), available...)
}

// findCongestionControl looks for a congestion control without setting it on a socket, which would
// load its module.
func findCongestionControl(m *machine, name string) finding {
	available := strings.Fields(readText(sysctlIPv4 + "tcp_available_congestion_control"))
	if slices.Contains(available, name) {
		return ok("")
	}
	modules, _ := filepath.Glob("/lib/modules/" + m.facts.KernelRelease + "/kernel/net/ipv4/tcp_" + name + ".ko*")
	if len(modules) > 0 {
		return limited("its module is not loaded: modprobe tcp_" + name)
	}
	return missing("not in this kernel")
}

func probeOption(m *machine, level, option, value int) finding {
	return m.judge(withSocket(func(fd int) error { return unix.SetsockoptInt(fd, level, option, value) }))
}

func probeRTOSysctl(m *machine) finding {
	_, err := os.Stat(sysctlIPv4 + "tcp_rto_min_us")
	return m.judge(err)
}
