package testnet

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"airtide/internal/sys/thread"
)

// Host is one end of the network.
type Host struct {
	// Name of its network namespace, for `ip netns exec`.
	Name string
	// NetNS is the inode number of the namespace.
	NetNS  uint32
	V4, V6 netip.Addr
	// Out is the path that carries what this host sends.
	Out   *Path
	ns    netns.NsHandle
	links *netlink.Handle
}

// Do runs f on a thread inside the namespace. Sockets opened by f stay there wherever they are
// used; goroutines started by f run outside.
func (h *Host) Do(f func() error) error {
	return thread.Do(func() error {
		if err := netns.Set(h.ns); err != nil {
			return fmt.Errorf("entering namespace %s: %w", h.Name, err)
		}
		return f()
	})
}

// Start starts a command in the namespace.
func (h *Host) Start(cmd *exec.Cmd) error { return h.Do(cmd.Start) }

// Run runs a command in the namespace and returns what it prints.
func (h *Host) Run(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	var out strings.Builder
	cmd.Stdout = &out
	cmd.Stderr = &out
	err := h.Start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		return out.String(), fmt.Errorf("running %s: %w: %s", cmd, err, strings.TrimSpace(out.String()))
	}
	return out.String(), nil
}

// Sysctl sets a kernel parameter of the namespace, named with dots.
func (h *Host) Sysctl(name, value string) error {
	path := filepath.Join("/proc/sys", strings.ReplaceAll(name, ".", "/"))
	return h.Do(func() error { return os.WriteFile(path, []byte(value), 0) })
}

// Counters reads the namespace's counters of TCP and IP, by the names of nstat without their group
// (TCPTimeouts).
func (h *Host) Counters() (map[string]uint64, error) {
	counters := map[string]uint64{}
	err := h.Do(func() error {
		for _, name := range []string{"netstat", "snmp"} {
			if err := readCounters("/proc/thread-self/net/"+name, counters); err != nil {
				return err
			}
		}
		return nil
	})
	return counters, err
}

// readCounters reads pairs of lines: names, and numbers below them.
func readCounters(path string, counters map[string]uint64) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("reading counters: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		names := strings.Fields(lines.Text())
		if !lines.Scan() {
			break
		}
		values := strings.Fields(lines.Text())
		for i := 1; i < len(names) && i < len(values); i++ {
			// A few are signed (Tcp MaxConn is -1) and of no use here.
			if n, err := strconv.ParseUint(values[i], 10, 64); err == nil {
				counters[names[i]] = n
			}
		}
	}
	return lines.Err()
}

func (h *Host) bringUp() error {
	for _, sysctl := range []string{
		"net.ipv6.conf.eth0.accept_dad", "net.ipv6.conf.eth0.accept_ra", "net.ipv6.conf.eth0.router_solicitations",
	} {
		if err := h.Sysctl(sysctl, "0"); err != nil {
			return err
		}
	}
	// Nothing learnt on one connection shall change the next.
	if err := h.Sysctl("net.ipv4.tcp_no_metrics_save", "1"); err != nil {
		return err
	}
	for _, name := range []string{"lo", device} {
		link, err := h.links.LinkByName(name)
		if err != nil {
			return fmt.Errorf("finding %s: %w", name, err)
		}
		if name == device {
			for _, prefix := range []netip.Prefix{netip.PrefixFrom(h.V4, 24), netip.PrefixFrom(h.V6, 64)} {
				addr, err := netlink.ParseAddr(prefix.String())
				if err != nil {
					return err
				}
				addr.Flags = unix.IFA_F_NODAD
				if err := h.links.AddrAdd(link, addr); err != nil {
					return fmt.Errorf("adding %s: %w", prefix, err)
				}
			}
		}
		if err := h.links.LinkSetUp(link); err != nil {
			return fmt.Errorf("setting %s up: %w", name, err)
		}
	}
	return nil
}

func (h *Host) linkUp() bool {
	link, err := h.links.LinkByName(device)
	return err == nil && link.Attrs().OperState == netlink.OperUp
}

// Rate limits what the host sends by a token bucket (tbf) with a queue of so many bytes behind it;
// a rate of 0 lifts the limit.
func (h *Host) Rate(bitsPerSecond uint64, queueBytes uint32) error {
	link, err := h.links.LinkByName(device)
	if err != nil {
		return fmt.Errorf("finding %s: %w", device, err)
	}
	attrs := netlink.QdiscAttrs{
		LinkIndex: link.Attrs().Index, Parent: netlink.HANDLE_ROOT,
		Handle: netlink.MakeHandle(1, 0),
	}
	if bitsPerSecond == 0 {
		return h.links.QdiscDel(&netlink.Tbf{QdiscAttrs: attrs})
	}
	// The bucket is given as the time that it takes to send it, in ticks of 64 ns (PSCHED_SHIFT in
	// pkt_sched.h): two full frames, or a millisecond where that is more.
	rate := bitsPerSecond / 8
	bucket := max(2*1600, rate/1000)
	err = h.links.QdiscReplace(&netlink.Tbf{
		QdiscAttrs: attrs, Rate: rate, Limit: queueBytes, Buffer: uint32(bucket * 1e9 / rate / 64),
	})
	if err != nil {
		return fmt.Errorf("adding tbf: %w", err)
	}
	return nil
}
