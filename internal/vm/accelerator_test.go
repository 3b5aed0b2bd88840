package vm

import (
	"os"
	"path/filepath"
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
