package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf/btf"

	"airtide/test/testnet"
)

// asChild makes the test binary print its report and end, so that a test can run it as another
// user.
const asChild = "AIRTIDE_DOCTOR_TEST_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(asChild) == "" {
		os.Exit(m.Run())
	}
	report, err := Examine(context.Background(), Options{})
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(report)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func examine(t *testing.T, o Options) *Report {
	t.Helper()
	report, err := Examine(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func statusOf(t *testing.T, r *Report, name string) Status {
	t.Helper()
	c, found := r.Check(name)
	if !found {
		t.Fatalf("no check %s", name)
	}
	return c.Status
}

func TestFindingsAgreeWithProc(t *testing.T) {
	available := func() []string {
		return strings.Fields(readText(sysctlIPv4 + "tcp_available_congestion_control"))
	}
	var report *Report
	var want []string
	testnet.Eventually(t, time.Minute, "no other program loads a congestion control", func() bool {
		want = available()
		report = examine(t, Options{})
		return slices.Equal(want, available())
	})
	controls, _ := report.Check("congestion_controls")
	if !slices.Equal(controls.Values, want) {
		t.Errorf("congestion controls %q, but /proc says %q", controls.Values, want)
	}
	if release := readText("/proc/sys/kernel/osrelease"); report.Machine.KernelRelease != release {
		t.Errorf("release %q, but /proc says %q", report.Machine.KernelRelease, release)
	}
	_, err := os.Stat("/proc/modules")
	if status := statusOf(t, report, "loadable_modules"); (err != nil) != (status == Missing) {
		t.Errorf("loadable modules are %s, but /proc/modules says %v", status, err)
	}
	_, err = os.Stat("/proc/sys/net/ipv4/tcp_rto_max_ms") // came with the socket option
	if status := statusOf(t, report, "tcp_rto_max_ms"); (err == nil) != (status == OK) {
		t.Errorf("TCP_RTO_MAX_MS is %s, but its sysctl says %v", status, err)
	}
	if statusOf(t, report, "inet_diag") != OK {
		t.Error("inet_diag takes no privileges and is not ok")
	}
}

func TestBTFFile(t *testing.T) {
	write := func(text []byte) string {
		path := filepath.Join(t.TempDir(), "btf")
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	builder, err := btf.NewBuilder([]btf.Type{&btf.Struct{Name: "tcp_sock", Size: 4}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	poor, err := builder.Marshal(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]struct {
		path   string
		status Status
		detail string
	}{
		"no such file":     {filepath.Join(t.TempDir(), "none"), Missing, "contains no types"},
		"no BTF":           {write([]byte("hello")), Missing, "contains no types"},
		"no types of TCP":  {write(poor), Missing, "has no struct sock"},
		"the kernel's own": {kernelBTF, OK, kernelBTF},
	}
	for name, c := range files {
		t.Run(name, func(t *testing.T) {
			m, err := newMachine(Options{BTFPath: c.path})
			if err != nil {
				t.Fatal(err)
			}
			if f := probeBTF(m); f.status != c.status || !strings.Contains(f.detail, c.detail) {
				t.Errorf("got %s %q, want %s %q", f.status, f.detail, c.status, c.detail)
			}
		})
	}
}

func TestExamineStopsWhenAsked(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Examine(ctx, Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it was cancelled", err)
	}
}
