//go:build kernel

package tune

import (
	"strings"
	"testing"
)

// The tune of a namespace that has ended has nothing to fail: its sockets, routes and sysctls ended
// with it.
func TestANamespaceThatIsGoneIsCalledSo(t *testing.T) {
	const gone = 1 // no namespace has this inode
	var r Report
	err := r.readRest(&session{
		Routes:  []route{{NetNS: gone, To: "192.0.2.1", MinRTOMs: 400}},
		Sysctls: []sysctl{{NetNS: gone, Name: rtoMinSysctl, Old: "200000", New: "400000"}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"route to 192.0.2.1: network namespace 1 is gone\n",
		"net.ipv4.tcp_rto_min_us: network namespace 1 is gone\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("%q is not in\n%s", want, text.String())
		}
	}
	if r.Failed() || strings.Contains(text.String(), "failed:") {
		t.Errorf("the tune has failed:\n%s", text.String())
	}
}
