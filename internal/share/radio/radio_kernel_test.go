//go:build kernel

package radio

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"airtide/test/testnet"
)

func TestWithoutWiFi(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	err := n.Client.Do(func() error {
		name, err := Find([]netip.Addr{n.Server.V4})
		if err != nil || name != "eth0" {
			t.Errorf("interface to the server: got %q, %v", name, err)
		}
		if _, err := Find(nil); err == nil || !strings.Contains(err.Error(), "finding the interface") {
			t.Errorf("without a default route: got error %v", err)
		}
		r, err := Open(name, nil)
		if err == nil {
			err = r.Close()
			t.Errorf("a veth was opened as a Wi-Fi station: %v", err)
		}
		return err
	})
	if !errors.Is(err, ErrNone) {
		t.Errorf("got %v", err)
	}
}
