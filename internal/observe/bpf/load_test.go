package bpf

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/cilium/ebpf"

	"airtide/internal/kernel/sockets/filter"
)

func TestRefusalsAreOneErrorInOneLine(t *testing.T) {
	var why refusals
	why.add(AttachTPBTF, fmt.Errorf("loading: %w", os.ErrPermission))
	why.add(AttachRawTP, fmt.Errorf("attaching: %w", ebpf.ErrNotSupported))
	err := why.join()
	if want := "as tp_btf: loading: permission denied; as raw_tp: attaching: not supported"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	if !errors.Is(err, os.ErrPermission) || !errors.Is(err, ebpf.ErrNotSupported) {
		t.Errorf("%q does not wrap both reasons", err)
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		name    string
		options Options
		want    string
	}{
		{
			"a filter that is too long",
			Options{Filter: filter.Filter{Ports: make([]uint16, filter.MaxPorts+1)}},
			"at most 64",
		},
		{"a file that is no BTF", Options{BTFPath: "/proc/self/comm"}, "reading BTF from /proc/self/comm"},
		{"a kernel without tcp_probe", Options{lacks: []string{"tcp_probe"}}, "--source diag"},
		{"a kernel without inet_sock_set_state", Options{lacks: []string{"inet_sock_set_state"}}, "--source diag"},
		{"a kernel without tcp_destroy_sock", Options{lacks: []string{"tcp_destroy_sock"}}, "--source diag"},
		{"a kernel without tcp_retransmit_skb", Options{lacks: []string{"tcp_retransmit_skb"}}, "--source diag"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Open(c.options)
			if err == nil {
				s.Close()
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q does not say %q", err, c.want)
			}
		})
	}
}
