//go:build kernel

package link

import (
	"testing"

	"golang.org/x/net/ipv4"
	"golang.org/x/net/ipv6"

	"airtide/test/testnet"
)

func TestDatagramsAreMarkedAsSignalling(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	l, _ := open(t, n.Client, Config{Interface: "eth0"})
	for _, c := range l.conns {
		mark, err := ipv4.NewPacketConn(c).TOS()
		if c.six {
			mark, err = ipv6.NewPacketConn(c).TrafficClass()
		}
		if err != nil || mark != classSelector5 {
			t.Errorf("IPv6 %v: %#x, %v", c.six, mark, err)
		}
	}
}
