package bpffilter

import (
	"net/netip"
	"testing"
)

func TestPrefixesAreComparedInMemoryOrder(t *testing.T) {
	all := ^uint32(0)
	for _, c := range []struct {
		prefix     string
		addr, mask [4]uint32
	}{
		{"0.0.0.0/0", [4]uint32{0, 0, 0xffff0000, 0}, [4]uint32{all, all, all, 0}},
		{"192.0.2.0/23", [4]uint32{0, 0, 0xffff0000, 0x000200c0}, [4]uint32{all, all, all, 0x00feffff}},
		{"192.0.2.1/32", [4]uint32{0, 0, 0xffff0000, 0x010200c0}, [4]uint32{all, all, all, all}},
		{"::/0", [4]uint32{}, [4]uint32{}},
		{"2001:db8::/33", [4]uint32{0xb80d0120}, [4]uint32{all, 0x00000080}},
		{"::1/128", [4]uint32{3: 0x01000000}, [4]uint32{all, all, all, all}},
	} {
		if got := words(netip.MustParsePrefix(c.prefix)); got.Addr != c.addr || got.Mask != c.mask {
			t.Errorf("%s: %08x, want %08x and %08x", c.prefix, got, c.addr, c.mask)
		}
	}
}
