package vm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
)

// FetchPackage unpacks a package of the suite that has a kernel, for programs in guests that are
// not of this machine's architecture, and says into which folder; from the cache if it is there. A
// package is unpacked without those that it needs.
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
