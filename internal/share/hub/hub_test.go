package hub

import (
	"net/netip"
	"strings"
	"testing"

	"airtide/internal/share/cellkey"
)

func TestMisuse(t *testing.T) {
	k := cellkey.New()
	for _, c := range []struct {
		says   string
		config Config
	}{
		{"no key", Config{}},
		{"a key is empty", Config{Keys: []cellkey.Pair{{}}}},
		{"two keys", Config{Keys: []cellkey.Pair{{New: k}, {New: k}}}},
		{"cannot assign", Config{Keys: []cellkey.Pair{{New: k}}, Listen: netip.MustParseAddrPort("192.0.2.1:4748")}},
	} {
		if h, err := Open(c.config); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %v", c.says, h, err)
		}
	}
	h, err := Open(Config{Keys: []cellkey.Pair{{New: k}}, Listen: netip.MustParseAddrPort("127.0.0.1:0")})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	if _, err := Open(
		Config{Keys: []cellkey.Pair{{New: k}}, Listen: netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), h.Port())},
	); err == nil || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("a port in use: %v", err)
	}
	both, err := Open(Config{Keys: []cellkey.Pair{{New: k}}})
	if err != nil {
		t.Fatal(err)
	}
	defer both.Close()
	at := netip.AddrPortFrom(netip.Addr{}, both.Port())
	if _, err := Open(Config{Keys: []cellkey.Pair{{New: k}}, Listen: at}); err == nil ||
		!strings.Contains(err.Error(), "--listen") || strings.Contains(err.Error(), "\n") {
		t.Errorf("a port that both families use: %v", err)
	}
}
