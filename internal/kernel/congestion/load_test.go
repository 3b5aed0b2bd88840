package congestion

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/cilium/ebpf/btf"
)

func TestOptionsThatAreRefused(t *testing.T) {
	good := CubicRTT.Defaults()
	for name, o := range map[string]struct {
		kind Kind
		Options
	}{
		"unknown kind":      {"vegas", Options{Parameters: good}},
		"long name":         {CubicRTT, Options{Name: "sixteen_letters_", Parameters: good}},
		"name with a slash": {CubicRTT, Options{Name: "../x", Parameters: good}},
		"no reference RTT":  {CubicRTT, Options{Parameters: Parameters{Beta: 0.7}}},
		"beta of 1":         {CubicPlain, Options{Parameters: Parameters{Beta: 1}}},
		"gamma above its bound": {
			Compound, Options{Parameters: Parameters{Gamma: 31, GammaLow: 5, GammaHigh: 30, LowWindow: 38}},
		},
		"gammas crossing": {
			Compound, Options{Parameters: Parameters{Gamma: 5, GammaLow: 6, GammaHigh: 5, LowWindow: 38}},
		},
	} {
		if l, err := Load(o.kind, o.Options); err == nil {
			_ = l.Close()
			t.Errorf("%s is taken", name)
		}
	}
}

func TestOlderKernelsAreTold(t *testing.T) {
	kernel := func(names ...string) func() (*btf.Spec, error) {
		return func() (*btf.Spec, error) {
			types := []btf.Type{
				&btf.Struct{
					Name: "sock", Size: 4, Members: []btf.Member{{Name: "x", Type: &btf.Int{Name: "int", Size: 4}}},
				},
			}
			for _, n := range names {
				types = append(types, &btf.Struct{Name: n})
			}
			b, err := btf.NewBuilder(types, nil)
			if err != nil {
				return nil, err
			}
			raw, err := b.Marshal(nil, nil)
			if err != nil {
				return nil, err
			}
			return btf.LoadSpecFromReader(bytes.NewReader(raw))
		}
	}
	const ops, link = "bpf_struct_ops_tcp_congestion_ops", "bpf_struct_ops_link_create"
	for _, c := range []struct {
		name string
		load func() (*btf.Spec, error)
		want string
	}{
		{"without BTF", func() (*btf.Spec, error) { return nil, os.ErrNotExist }, "BTF"},
		{"5.4", kernel(), "5.6"},
		{"5.10", kernel(ops), "6.4"},
		{"6.18", kernel(ops, link), ""},
		{"the running one", btf.LoadKernelSpec, ""},
	} {
		if got := lacking(c.load); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("kernel %s lacks %q, want %q", c.name, got, c.want)
		}
	}
}
