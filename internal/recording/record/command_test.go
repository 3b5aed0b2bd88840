package record

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"airtide/internal/observe/source"
)

func TestUnknownCommandLeavesNoFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.atr")
	_, err := Run(context.Background(), Options{Path: path, Command: []string{"no-such-command"}, All: true})
	if !errors.Is(err, exec.ErrNotFound) || !strings.Contains(err.Error(), "no-such-command") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was made: %v", err)
	}
}

func TestStatusOfTheCommandIsInTheResult(t *testing.T) {
	r, err := Run(context.Background(), Options{
		Path: filepath.Join(t.TempDir(), "x.atr"), Command: []string{"sh", "-c", "exit 7"}, All: true,
		Observe: source.Options{Source: source.Diag},
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.CommandStatus != 7 || r.CommandError == "" {
		t.Errorf("status %d, error %q", r.CommandStatus, r.CommandError)
	}
}
