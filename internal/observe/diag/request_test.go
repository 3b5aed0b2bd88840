package diag

import (
	"fmt"
	"net/netip"
	"testing"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/tcp"
)

// TestKernelFilterAgreesWithFilterMatch asks the kernel with and without the filter's program and
// compares.
func TestKernelFilterAgreesWithFilterMatch(t *testing.T) {
	client, server := connect(t, "tcp4", "127.0.0.1:0")
	connect(t, "tcp6", "[::1]:0")
	connect(t, "tcp", ":0") // IPv6 socket with a v4-mapped peer
	connect(t, "tcp4", "127.0.0.2:0")
	prefixes := func(list ...string) (p []netip.Prefix) {
		for _, s := range list {
			p = append(p, netip.MustParsePrefix(s))
		}
		return p
	}
	many := filter.Filter{}
	for i := range filter.MaxPorts - 1 {
		many.Ports = append(many.Ports, uint16(i+1))
		many.Prefixes = append(many.Prefixes, prefixes(fmt.Sprintf("2001:db8:%x::/48", i+1))...)
	}
	many.Ports = append(many.Ports, portOf(server.LocalAddr()))
	many.Prefixes = append(many.Prefixes, prefixes("127.0.0.0/8")...)
	for _, c := range []struct {
		name string
		f    filter.Filter
		none bool // expects that nothing passes
	}{
		{name: "local port", f: onlyPort(server.LocalAddr())},
		{name: "several ports", f: filter.Filter{Ports: []uint16{1, portOf(client.LocalAddr()), 2}}},
		{name: "no such port", f: filter.Filter{Ports: []uint16{1}}, none: true},
		{name: "IPv4 prefix", f: filter.Filter{Prefixes: prefixes("127.0.0.0/8")}},
		{name: "IPv4 host", f: filter.Filter{Prefixes: prefixes("127.0.0.2/32")}},
		{name: "odd prefix length", f: filter.Filter{Prefixes: prefixes("127.0.0.2/31")}},
		{name: "IPv6 prefix", f: filter.Filter{Prefixes: prefixes("::1/128")}},
		{name: "all of IPv4", f: filter.Filter{Prefixes: prefixes("0.0.0.0/0")}},
		{name: "all of IPv6", f: filter.Filter{Prefixes: prefixes("::/0")}},
		{name: "no such prefix", f: filter.Filter{Prefixes: prefixes("192.0.2.0/24")}, none: true},
		{
			name: "port and prefix",
			f: filter.Filter{
				Ports: []uint16{portOf(server.LocalAddr())}, Prefixes: prefixes("::1/128", "127.0.0.0/8"),
			},
		},
		{
			name: "port that the prefix excludes",
			f:    filter.Filter{Ports: []uint16{portOf(server.LocalAddr())}, Prefixes: prefixes("::1/128")},
			none: true,
		},
		{name: "as many as may be", f: many},
	} {
		program := bytecode(&c.f)
		if len(program) == 0 {
			t.Errorf("%s: no program", c.name)
		}
		passed := dumpAll(t, program)
		want := map[netip.AddrPort]bool{}
		for flow := range dumpAll(t, nil) {
			if c.f.Match(&tcp.Flow{Local: flow[0], Remote: flow[1]}, nil) {
				want[flow[0]] = true
				if !passed[flow] {
					t.Errorf("%s: the kernel dropped %v > %v", c.name, flow[0], flow[1])
				}
			}
		}
		if c.none != (len(want) == 0) {
			t.Errorf("%s: %d sockets pass Filter.Match", c.name, len(want))
		}
		for flow := range passed {
			if !c.f.Match(&tcp.Flow{Local: flow[0], Remote: flow[1]}, nil) && c.name != "all of IPv6" {
				t.Errorf("%s: the kernel let %v > %v through", c.name, flow[0], flow[1])
			}
		}
	}
	if program := bytecode(&filter.Filter{PIDs: []uint32{1}}); program != nil {
		t.Errorf("a filter without ports and prefixes has a program of %d bytes", len(program))
	}
}

func dumpAll(t *testing.T, program []byte) map[[2]netip.AddrPort]bool {
	t.Helper()
	c, err := open()
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	sockets := map[[2]netip.AddrPort]bool{}
	_, err = c.dump(dumpRequest(program), func(_ int64, msg []byte) error {
		var a answer
		if !a.parse(msg) {
			t.Errorf("answer of %d bytes is cut off", len(msg))
		}
		if len(a.info) == 0 {
			return nil
		}
		local, remote := a.endpoints()
		sockets[[2]netip.AddrPort{local, remote}] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sockets
}
