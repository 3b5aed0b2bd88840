package vm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A verdict on KVM lasts until the machine starts anew, and is asked for only where there is a
// device.
func TestAVerdictOnKVMLastsAsLongAsTheMachineRuns(t *testing.T) {
	dir := t.TempDir()
	for file, name := range map[*string]string{&verdictFile: "run/kvm", &kvmDevice: "dev-kvm", &bootIDFile: "boot_id"} {
		before := *file
		*file = filepath.Join(dir, name)
		t.Cleanup(func() { *file = before })
	}
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := func(when string, works, known bool) {
		t.Helper()
		if w, k := kvmVerdict(); w != works && known || k != known {
			t.Errorf("%s: it works: %t, and that is known: %t", when, w, k)
		}
	}
	write(bootIDFile, "first\n")
	want("without a device", false, true)
	write(kvmDevice, "")
	want("untried", false, false)
	rememberKVM(true)
	want("tried with success", true, true)
	rememberKVM(false)
	want("tried without", false, true)
	write(bootIDFile, "second\n")
	want("after another start", false, false)
	for _, text := range []string{"", "yes", "maybe second", "yes first"} {
		write(verdictFile, text+"\n")
		want("with the verdict "+text, false, text == "maybe second")
	}
	if err := os.Remove(kvmDevice); err != nil {
		t.Fatal(err)
	}
	want("when the device has gone", false, true)
}

// TestQemuRunsAsNobodyWhoMayUseKVM also tests root of a user namespace and other users. Their qemu
// keeps their user.
func TestQemuRunsAsNobodyWhoMayUseKVM(t *testing.T) {
	before := kvmDevice
	defer func() { kvmDevice = before }()
	kvmDevice = filepath.Join(t.TempDir(), "kvm")
	if err := os.WriteFile(kvmDevice, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	user := TCG.user()
	ids, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		t.Fatal(err)
	}
	if root := os.Geteuid() == 0 && strings.Contains(string(ids), "4294967295"); (user != nil) != root {
		t.Errorf("root is %t, and qemu's user %v", root, user)
	}
	if got := KVM.user(); got != nil {
		t.Errorf("a device for root alone is used by %v", got)
	}
	if err := os.Chmod(kvmDevice, 0o660); err != nil {
		t.Fatal(err)
	}
	if got := KVM.user(); user != nil && (got == nil || got.Uid == 0 || len(got.Groups) != 1) {
		t.Errorf("a device for a group is used by %v", got)
	}
}
