package engine

import (
	"net/netip"
	"strings"
	"testing"
)

func TestTheLongestPrefixWins(t *testing.T) {
	a := &port{
		Port: Port{
			Name:      "a",
			Addresses: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("fd00::/8")},
		},
	}
	b := &port{Port: Port{Name: "b", Addresses: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}}
	c := &port{Port: Port{Name: "c", Addresses: host("10.1.2.3")}}
	r, err := newRoutes([]*port{a, b, c})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]*port{
		"10.1.2.3": c, "10.1.2.4": b, "10.2.0.1": a, "fd01::1": a, "2001:db8::1": nil, "224.0.0.1": nil, "ff02::1": nil,
	} {
		if got := r.find(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s leads to %v, want %v", address, got, want)
		}
	}
}

func TestAConfigurationThatCannotBeIsRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(c *Config)
		want   string
	}{
		{"no ports", func(c *Config) { c.Ports = nil }, "at least one port"},
		{"a name twice", func(c *Config) { c.Ports[1].Name = "station" }, `two ports are named "station"`},
		{"a name with a slash", func(c *Config) { c.Ports[0].Name = "../x" }, "letters, digits"},
		{"an unknown kind", func(c *Config) { c.Ports[0].Kind = "phone" }, "use station, server or outside"},
		{
			"a subnet for a host", func(c *Config) { c.Ports[0].Addresses[0] = netip.MustParsePrefix("10.0.0.1/24") },
			"write 10.0.0.1/32",
		},
		{"no address", func(c *Config) { c.Ports[0].Addresses = nil }, "no address"},
		{
			"a station without number", func(c *Config) { c.Ports[0].Station = NoStation },
			"cannot have station number -1",
		},
		{"a server with number", func(c *Config) { c.Ports[1].Station = 3 }, "a server cannot have station number 3"},
		{"an MTU too large for a slot", func(c *Config) { c.Ports[0].MTU = 9000 }, "not within 576..1984"},
		{"an MTU too small for IPv6", func(c *Config) { c.Ports[0].MTU = 600 }, "at least 1280"},
		{"a server that refuses", func(c *Config) { c.Ports[1].Refuse = true }, "only a station's device"},
		{"an interface without name", func(c *Config) { c.Ports[1].Kind = Outside }, "name of an interface"},
		{"too few slots", func(c *Config) { c.Slots = 3 }, "at least 64"},
		{"a station twice", func(c *Config) {
			c.Ports = append(c.Ports, Port{Name: "x", Kind: Station, Station: 0, Addresses: host("10.9.9.9")})
		}, `ports "station" and "x" are both station 0`},
	} {
		config := pair(lineConfig{})
		c.change(&config)
		if err := config.check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
