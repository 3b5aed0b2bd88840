package doctor

import (
	"fmt"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"airtide/internal/sys/thread"
)

// inScratchNamespace runs a trial on a thread in a new network namespace, which ends with the trial
// and has only a loopback device.
func inScratchNamespace(trial func() error) error {
	return thread.Do(func() error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("making a network namespace: %w", err)
		}
		return trial()
	})
}

// linkTable lists the virtual links that are tried.
var linkTable = []struct {
	name   string
	link   func(netlink.LinkAttrs) netlink.Link
	needs  []Need
	loss   string
	remedy string
}{
	{
		"veth", func(a netlink.LinkAttrs) netlink.Link { return &netlink.Veth{LinkAttrs: a, PeerName: "peer"} },
		need(required, "", Cell, Lab), "hosts in namespaces cannot be connected", "a kernel with CONFIG_VETH",
	},
	{
		"bridge", func(a netlink.LinkAttrs) netlink.Link { return &netlink.Bridge{LinkAttrs: a} },
		nil, "links cannot be bridged", "a kernel with CONFIG_BRIDGE",
	},
}

// qdiscTable lists the queueing disciplines that are tried on the loopback device of a scratch
// namespace.
var qdiscTable = []struct {
	name   string
	qdisc  func(netlink.QdiscAttrs) netlink.Qdisc
	needs  []Need
	loss   string
	module string
}{
	{
		"netem", func(a netlink.QdiscAttrs) netlink.Qdisc {
			return netlink.NewNetem(a, netlink.NetemQdiscAttrs{Latency: 1000, Limit: 100})
		},
		nil, "delay and loss come from the emulated path alone", "sch_netem",
	},
	{
		"fq", func(a netlink.QdiscAttrs) netlink.Qdisc { return netlink.NewFq(a) },
		nil, "pacing is done by TCP's own timers instead of the qdisc", "sch_fq",
	},
	{
		"tbf", func(a netlink.QdiscAttrs) netlink.Qdisc {
			return &netlink.Tbf{QdiscAttrs: a, Rate: 1e6, Limit: 10000, Buffer: 10000}
		},
		nil, "no rate limit by token bucket", "sch_tbf",
	},
	{
		"htb",
		func(a netlink.QdiscAttrs) netlink.Qdisc { return netlink.NewHtb(a) },
		nil,
		"no rate limits by class",
		"sch_htb",
	},
	{
		"clsact", func(a netlink.QdiscAttrs) netlink.Qdisc {
			a.Handle = netlink.MakeHandle(0xffff, 0)
			a.Parent = netlink.HANDLE_CLSACT
			return &netlink.GenericQdisc{QdiscAttrs: a, QdiscType: "clsact"}
		},
		need(optional, "", Cell,
			Lab), "before kernel 6.6, devices of terminals cannot refuse packets (refuses: true)", "sch_ingress",
	},
}

func networkChecks() []check {
	checks := []check{{
		name:  "network_namespace",
		group: groupNetwork,
		needs: need(required, "", Cell, Lab),
		probe: func(m *machine) finding {
			return m.judge(inScratchNamespace(func() error { return nil }), capSysAdmin)
		},
		loss:   "experiments cannot have separate hosts",
		remedy: "a kernel with CONFIG_NET_NS=y",
	}}
	for _, l := range linkTable {
		checks = append(checks, check{
			name:   l.name,
			group:  groupNetwork,
			needs:  l.needs,
			loss:   l.loss,
			remedy: l.remedy,
			probe: func(m *machine) finding {
				return m.judgeNetwork(inScratchNamespace(func() error { return addLink(l.link) }))
			},
		})
	}
	checks = append(checks, check{
		name:   "macvtap",
		group:  groupNetwork,
		needs:  need(required, "", Cell, Lab),
		probe:  func(m *machine) finding { return m.judgeNetwork(inScratchNamespace(addMacvtap)) },
		loss:   "a terminal cannot push back on its sender as a Wi-Fi driver does",
		remedy: "a kernel with CONFIG_MACVTAP",
	})
	for _, device := range []struct {
		name  string
		flag  uint16
		needs []Need
	}{{"tap", unix.IFF_TAP, nil}, {"tun", unix.IFF_TUN, need(required, "", Cell, Lab)}} {
		checks = append(checks, check{
			name:  device.name,
			group: groupNetwork,
			needs: device.needs,
			probe: func(m *machine) finding {
				return m.judgeNetwork(inScratchNamespace(func() error { return openTun(device.flag) }))
			},
			loss:   "the emulated cell has no servers",
			remedy: "a kernel with CONFIG_TUN, and /dev/net/tun",
		})
	}
	for _, q := range qdiscTable {
		checks = append(checks, check{
			name:   "qdisc_" + q.name,
			group:  groupNetwork,
			needs:  q.needs,
			loss:   q.loss,
			remedy: "a kernel with " + q.module,
			probe: func(m *machine) finding {
				return m.judgeNetwork(inScratchNamespace(func() error { return addQdisc(q.qdisc) }))
			},
		})
	}
	return checks
}

// HasQdisc tries a queueing discipline, named as in the check qdisc_NAME, and reports whether it
// works. It needs root.
func HasQdisc(name string) bool {
	for _, q := range qdiscTable {
		if q.name == name {
			return inScratchNamespace(func() error { return addQdisc(q.qdisc) }) == nil
		}
	}
	return false
}

func (m *machine) judgeNetwork(err error) finding { return m.judge(err, capSysAdmin, capNetAdmin) }

// addLink adds a link in the namespace of the calling thread. The link ends with the namespace.
func addLink(make func(netlink.LinkAttrs) netlink.Link) error {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("opening route netlink: %w", err)
	}
	defer h.Close()
	attrs := netlink.NewLinkAttrs()
	attrs.Name = "trial"
	return h.LinkAdd(make(attrs))
}

// addMacvtap adds a macvtap to one end of a veth pair, because it needs an Ethernet device.
func addMacvtap() error {
	err := addLink(func(a netlink.LinkAttrs) netlink.Link {
		a.Name = "lower"
		return &netlink.Veth{LinkAttrs: a, PeerName: "peer"}
	})
	if err != nil {
		return fmt.Errorf("adding a veth pair below: %w", err)
	}
	lower, err := netlink.LinkByName("lower")
	if err != nil {
		return fmt.Errorf("finding the veth pair below: %w", err)
	}
	return addLink(func(a netlink.LinkAttrs) netlink.Link {
		a.ParentIndex = lower.Attrs().Index
		return &netlink.Macvtap{Macvlan: netlink.Macvlan{LinkAttrs: a, Mode: netlink.MACVLAN_MODE_BRIDGE}}
	})
}

// openTun makes a TUN or TAP device. It ends when its file is closed.
func openTun(flag uint16) error {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening /dev/net/tun: %w", err)
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("trial")
	if err != nil {
		return err
	}
	request.SetUint16(flag | unix.IFF_NO_PI)
	return unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
}

func addQdisc(make func(netlink.QdiscAttrs) netlink.Qdisc) error {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("opening route netlink: %w", err)
	}
	defer h.Close()
	loopback, err := h.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("finding the loopback device: %w", err)
	}
	return h.QdiscAdd(make(netlink.QdiscAttrs{
		LinkIndex: loopback.Attrs().Index, Parent: netlink.HANDLE_ROOT, Handle: netlink.MakeHandle(1, 0),
	}))
}
