package machine

import (
	"testing"
)

func TestSysctlsOfDevicesWithDotsHaveSlashes(t *testing.T) {
	for name, want := range map[string]string{
		"net.ipv4.tcp_sack":               "/proc/sys/net/ipv4/tcp_sack",
		"net/ipv4/conf/eth0.5/forwarding": "/proc/sys/net/ipv4/conf/eth0.5/forwarding",
	} {
		if got, err := sysctlPath(name); err != nil || got != want {
			t.Errorf("%s lies at %s (%v), want %s", name, got, err, want)
		}
	}
}
