//go:build kernel

package tune

import (
	"strings"
	"testing"
)

// A setting that this kernel lacks is refused, and the error names an alternative.
func TestSettingsThatThisKernelRefuses(t *testing.T) {
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
			t.Errorf("%+v: got error %v, want one with %q", c.set, err, c.want)
		}
	}
	if all, err := Show(t.Context(), mount); err != nil || len(all) != 0 {
		t.Errorf("left are %+v, %v, want no tune", all, err)
	}
}
