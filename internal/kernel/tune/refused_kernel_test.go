//go:build kernel

package tune

import (
	"strings"
	"testing"
)

// What only the running kernel can refuse says what it can do instead.
func TestWhatThisKernelRefuses(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	for _, c := range []struct {
		set  Settings
		want string
	}{
		{Settings{CongestionControl: "nosuch"}, "this kernel has"},
		{Settings{CongestionControl: "compound"}, "airtide cc load compound"},
		{Settings{SendBufferBytes: 1 << 29}, "net.core.wmem_max"},
		{Settings{WindowClampBytes: 1 << 29}, "net.core.rmem_max"},
		{Settings{MinRTOUs: 1000}, "ticks"},
	} {
		_, err := Apply(t.Context(), client(n), c.set, Options{BPFFS: mount})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.set, err)
		}
	}
	if all, err := Show(t.Context(), mount); err != nil || len(all) != 0 {
		t.Errorf("left are %+v, %v", all, err)
	}
}
