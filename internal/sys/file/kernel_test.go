package file

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestSetReplacesAValueAndMakesNoFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "value")
	if err := Set(path, "1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file gives %v", err)
	}
	if err := os.WriteFile(path, []byte("1000000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Set(path, "42"); err != nil || read(t, path) != "42\n" {
		t.Errorf("the file has %q, %v", read(t, path), err)
	}
	if n, err := Number(path); n != 42 || err != nil {
		t.Errorf("the number is %d, %v", n, err)
	}
	if err := Set(path, "many"); err != nil {
		t.Fatal(err)
	}
	if text, err := Line(path); text != "many" || err != nil {
		t.Errorf("the line is %q, %v", text, err)
	}
	if n, err := Number(path); err == nil {
		t.Errorf("%q is the number %d", "many", n)
	}
}
