package cellkey_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"airtide/internal/share/cellkey"
	"airtide/test/testnet"
)

func TestAKeyIsRotatedAndRetired(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cell.key")
	old := cellkey.New()
	if err := cellkey.Create(path, old); err != nil {
		t.Fatal(err)
	}
	if _, err := cellkey.Retire(path); err == nil || !strings.Contains(err.Error(), "one key") {
		t.Errorf("retiring the only key: %v", err)
	}
	both, err := cellkey.Rotate(path)
	if err != nil || both.Old != old || both.New == old {
		t.Fatalf("rotated: %v, %v", both, err)
	}
	if _, err := cellkey.Rotate(path); err == nil || !strings.Contains(err.Error(), "two keys") {
		t.Errorf("rotating twice: %v", err)
	}
	if read, err := cellkey.Read(path); err != nil || read != both {
		t.Errorf("read back: %v, %v", read, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if one, err := cellkey.Retire(path); err != nil || one != (cellkey.Pair{New: both.New}) {
		t.Errorf("retired: %v, %v", one, err)
	}
}

func TestBadPairsAreRefused(t *testing.T) {
	k := cellkey.New().Text()
	for text, want := range map[string]string{
		k + "\n" + k + "\n":       "the same",
		k + "\n" + k + "\n" + k:   "3 lines",
		k + "\nairtide-cell-1:xy": "line 2",
	} {
		path := filepath.Join(t.TempDir(), "cell.key")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := cellkey.Read(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

// A file that has changed is read again. A file that cannot be read leaves the keys as they are.
func TestAFollowedFileIsReadAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cell.key")
	if err := cellkey.Create(path, cellkey.New()); err != nil {
		t.Fatal(err)
	}
	first, err := cellkey.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	now := cellkey.Follow(path, first, func(line string) { said = append(said, line) })
	become := func(want cellkey.Pair) {
		t.Helper()
		testnet.Eventually(t, time.Minute, fmt.Sprintf("the keys to be %v", want), func() bool { return now() == want })
	}
	become(first)
	both, err := cellkey.Rotate(path)
	if err != nil {
		t.Fatal(err)
	}
	become(both)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	testnet.Eventually(t, time.Minute, "the word that the file is gone", func() bool {
		now()
		return len(said) > 0
	})
	become(both)
}
