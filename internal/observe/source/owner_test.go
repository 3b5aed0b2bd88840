package source

import (
	"testing"

	"airtide/internal/kernel/sockets/filter"
)

func TestAFilterByProcessNeedsOwners(t *testing.T) {
	for _, f := range []filter.Filter{{PIDs: []uint32{1}}, {Comms: []string{"iperf3"}}} {
		if s, err := Open(Options{Source: Diag, Filter: f, NoOwners: true}); err == nil {
			t.Errorf("opened with %+v", f)
			_ = s.Close()
		}
	}
}
