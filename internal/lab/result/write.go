package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// writeFile writes a whole file or none. It writes and syncs a temporary file, then renames it, so
// a power failure leaves no incomplete file.
func writeFile(path string, data []byte) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return adviseOnFullDisk(fmt.Errorf("writing %s: %w", path, err))
	}
	defer func() {
		if err != nil {
			err = adviseOnFullDisk(fmt.Errorf("writing %s: %w", path, err))
			os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(data); err == nil {
		err = errors.Join(f.Chmod(0o644), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncFolder(dir)
}

// writeJSON writes a value for machines that people can read.
func writeJSON(path string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding %s: %w", path, err)
	}
	return writeFile(path, append(data, '\n'))
}

// syncFolder sees that the names in a folder are on disk.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// adviseOnFullDisk adds the way out to the error of a full disk.
func adviseOnFullDisk(err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return fmt.Errorf("%w (finished runs are kept: free some space and resume)", err)
	}
	return err
}
