package filter

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"airtide/internal/tcp"
)

func TestParsePort(t *testing.T) {
	for text, want := range map[string]uint16{"1": 1, "443": 443, "65535": 65535} {
		if p, err := ParsePort(text); err != nil || p != want {
			t.Errorf("%q is %d, %v", text, p, err)
		}
	}
	for _, text := range []string{"", "0", "65536", "-1", "+1", " 80", "http", "80-90", "0x50"} {
		if p, err := ParsePort(text); err == nil || !strings.Contains(err.Error(), `"`+text+`"`) ||
			!strings.Contains(err.Error(), "1 to 65535") {
			t.Errorf("%q is taken for %d, %v", text, p, err)
		}
	}
}

func TestParsePrefix(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.1":            "192.0.2.1/32",
		"2001:db8::1":          "2001:db8::1/128",
		"::ffff:192.0.2.1":     "192.0.2.1/32", // a v4-mapped address is the IPv4 address
		"::ffff:192.0.2.9/120": "192.0.2.0/24",
		"192.0.2.77/24":        "192.0.2.0/24", // host bits are cleared
		"2001:db8:ffff::1/33":  "2001:db8:8000::/33",
		"0.0.0.0/0":            "0.0.0.0/0",
		"::/0":                 "::/0",
		"255.255.255.255/32":   "255.255.255.255/32",
		"fe80::1/10":           "fe80::/10",
		"2001:0db8:0:0::1/128": "2001:db8::1/128",
	} {
		if p, err := ParsePrefix(text); err != nil || p.String() != want {
			t.Errorf("%q is %s, %v, want %s", text, p, err, want)
		}
	}
	for _, text := range []string{
		"", "/", "localhost", "192.0.2", "192.0.2.256", "192.0.2.0/33", "2001:db8::/129", "192.0.2.0/",
		"192.0.2.0/-1", "192.0.2.0/24/8", "/24", "192.0.2.1:80",
	} {
		if p, err := ParsePrefix(text); err == nil || !strings.Contains(err.Error(), `"`+text+`"`) ||
			!strings.Contains(err.Error(), "192.0.2.0/24") {
			t.Errorf("%q is taken for %s, %v", text, p, err)
		}
	}
}

func TestParseDensity(t *testing.T) {
	for text, want := range map[string]Density{
		"": {}, "every": {}, "change": {Mode: OnChange}, "10ms": {AtMost, 10 * time.Millisecond},
		"1m30s": {AtMost, 90 * time.Second},
	} {
		d, err := ParseDensity(text)
		if err != nil || d != want {
			t.Errorf("%q is %v, %v", text, d, err)
		}
		// The text of a recording's head can be parsed again.
		if again, err := ParseDensity(d.String()); err != nil || again != d {
			t.Errorf("%q is written %q, which is read as %v, %v", text, d, again, err)
		}
	}
	for _, text := range []string{"often", "0", "0s", "-10ms", "10", "Every", "every "} {
		if d, err := ParseDensity(text); err == nil || !strings.Contains(err.Error(), `"`+text+`"`) ||
			!strings.Contains(err.Error(), "every, change") {
			t.Errorf("%q is taken for %v, %v", text, d, err)
		}
	}
}

func TestListsAreAsLongAsTheSourcesTake(t *testing.T) {
	for what, lists := range map[string]struct{ full, over Filter }{
		"ports": {Filter{Ports: make([]uint16, MaxPorts)}, Filter{Ports: make([]uint16, MaxPorts+1)}},
		"prefixes": {
			Filter{Prefixes: make([]netip.Prefix, MaxPrefixes)},
			Filter{Prefixes: make([]netip.Prefix, MaxPrefixes+1)},
		},
		"processes": {Filter{PIDs: make([]uint32, MaxPIDs)}, Filter{PIDs: make([]uint32, MaxPIDs+1)}},
		"process names": {
			Filter{Comms: slices.Repeat([]string{"iperf3"}, MaxPIDs)},
			Filter{Comms: slices.Repeat([]string{"iperf3"}, MaxPIDs+1)},
		},
		"cgroups": {
			Filter{Cgroups: make([]uint64, MaxCgroups)}, Filter{Cgroups: make([]uint64, MaxCgroups+1)},
		},
		"network namespaces": {Filter{NetNS: make([]uint32, MaxNetNS)}, Filter{NetNS: make([]uint32, MaxNetNS+1)}},
	} {
		if err := lists.full.Check(); err != nil {
			t.Errorf("as many %s as are possible: %v", what, err)
		}
		if err := lists.over.Check(); err == nil || !strings.Contains(err.Error(), " "+what+" given") {
			t.Errorf("one of the %s too many: %v", what, err)
		}
	}
	for name, right := range map[string]bool{"": false, "a": true, "fifteen-letters": true, "sixteen--letters": false} {
		if err := (&Filter{Comms: []string{name}}).Check(); (err == nil) != right {
			t.Errorf("process name %q: %v", name, err)
		}
	}
}

func TestOneOfEachListMustMatch(t *testing.T) {
	flow := &tcp.Flow{
		Local:  netip.MustParseAddrPort("[::ffff:192.0.2.1]:40000"),
		Remote: netip.MustParseAddrPort("[::ffff:198.51.100.7]:443"),
		PID:    7, Comm: "curl", NetNS: 9,
	}
	cgroups := []uint64{30, 20, 1} // its own and those above
	prefix := netip.MustParsePrefix
	for _, c := range []struct {
		name   string
		filter Filter
		want   bool
	}{
		{"nothing", Filter{}, true},
		{"local port", Filter{Ports: []uint16{1, 40000}}, true},
		{"remote port", Filter{Ports: []uint16{443}}, true},
		{"another port", Filter{Ports: []uint16{80}}, false},
		{"local address, mapped", Filter{Prefixes: []netip.Prefix{prefix("192.0.2.0/24")}}, true},
		{
			"remote address, mapped",
			Filter{Prefixes: []netip.Prefix{prefix("203.0.113.0/24"), prefix("198.51.100.7/32")}},
			true,
		},
		{
			"another address",
			Filter{Prefixes: []netip.Prefix{prefix("198.51.100.8/32"), prefix("2001:db8::/32")}},
			false,
		},
		{"process", Filter{PIDs: []uint32{7}}, true},
		{"another process", Filter{PIDs: []uint32{8}}, false},
		{"name", Filter{Comms: []string{"curl"}}, true},
		{"a longer name", Filter{Comms: []string{"curl2"}}, false},
		{"own cgroup", Filter{Cgroups: []uint64{30}}, true},
		{"cgroup above", Filter{Cgroups: []uint64{20}}, true},
		{"another cgroup", Filter{Cgroups: []uint64{40}}, false},
		{"namespace", Filter{NetNS: []uint32{9}}, true},
		{"another namespace", Filter{NetNS: []uint32{8}}, false},
		{
			"all",
			Filter{
				Ports: []uint16{443}, PIDs: []uint32{7}, Comms: []string{"curl"}, Cgroups: []uint64{1},
				NetNS: []uint32{9},
			},
			true,
		},
		{
			"all but one",
			Filter{
				Ports: []uint16{443}, PIDs: []uint32{7}, Comms: []string{"wget"}, Cgroups: []uint64{1},
				NetNS: []uint32{9},
			},
			false,
		},
	} {
		if got := c.filter.Match(flow, cgroups); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
		if c.filter.Empty() != (c.name == "nothing") {
			t.Errorf("%s: empty is %v", c.name, c.filter.Empty())
		}
	}
}
