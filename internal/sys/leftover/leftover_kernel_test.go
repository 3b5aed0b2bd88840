//go:build kernel

package leftover

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"airtide/internal/sys/pidns"
	"airtide/test/need"
)

const folderVariable = "AIRTIDE_LEFTOVER_TEST"

// TestMain is a process of another PID namespace, too. It leaves a file of its own behind.
func TestMain(m *testing.M) {
	folder := os.Getenv(folderVariable)
	if folder == "" {
		os.Exit(m.Run())
	}
	Remove(folder, "a-", Ended, os.Remove)
	if os.WriteFile(filepath.Join(folder, "a-"+Owner(os.Getpid())+"-x"), nil, 0o600) != nil {
		os.Exit(1)
	}
}

// A process of another PID namespace, as in a container, sees no process of this one.
func TestFilesOfOtherPIDNamespacesStay(t *testing.T) {
	need.Root(t)
	folder := t.TempDir()
	own := filepath.Join(folder, "a-"+Owner(os.Getppid()))
	if err := os.WriteFile(own, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("unshare", "--pid", "--fork", "--mount-proc", os.Args[0])
	c.Env = append(os.Environ(), folderVariable+"="+folder)
	if said, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	if _, err := os.Stat(own); err != nil {
		t.Errorf("the file of a process outside: %v", err)
	}
	inner, err := filepath.Glob(filepath.Join(folder, "a-1.*-x"))
	if err != nil || len(inner) != 1 {
		t.Fatalf("files of the process inside: %v, %v", inner, err)
	}
	// It may live as long as its namespace has a process.
	ns, _, err := pidns.Self()
	if err != nil {
		t.Fatal(err)
	}
	kept := strings.Replace(inner[0], filepath.Base(inner[0]), "a-1."+strconv.FormatUint(ns, 10), 1)
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	Remove(folder, "a-", Ended, os.Remove)
	// Only the first PID namespace sees that another one is gone.
	if _, err := os.Stat(inner[0]); os.IsNotExist(err) != (ns == pidns.First) {
		t.Errorf("the file of a PID namespace that is gone: %v", err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("the file of a PID namespace with processes: %v", err)
	}
}
