package vm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// FetchPackage unpacks a package of the kernel's suite and returns the folder, from the cache if
// possible. It serves guests of another architecture than this machine. Dependencies are not
// unpacked.
func FetchPackage(ctx context.Context, version, architecture, name string) (string, error) {
	suite, err := suiteOf(version)
	if err != nil {
		return "", err
	}
	folder := filepath.Join(place(suite, architecture), name)
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	choose := func(*apt) ([]string, error) { return []string{name}, nil }
	if err := fetch(ctx, suite, architecture, name, choose, nil); err != nil {
		return "", fmt.Errorf("fetching Debian's package %s for %s: %w", name, architecture, err)
	}
	return folder, nil
}
