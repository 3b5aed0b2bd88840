// Package file opens files without waiting, and replaces them so that a crash or a power failure
// leaves the old or the new content.
package file

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Open opens a file to read. It does not wait for the writer of a FIFO: without one, the FIFO is
// empty.
func Open(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
}

// Write replaces a file as a whole. It writes and syncs a temporary file in the same folder,
// renames it, and syncs the folder. The temporary file has an unpredictable name and is created
// with O_EXCL, so a planted link is not followed. A link at path itself is replaced. After an error
// the old file stays and the temporary file is removed. Errors wrap those of the system, such as
// ENOSPC.
func Write(path string, data []byte, mode fs.FileMode) (err error) {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing %s: %w", path, err)
			os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err == nil {
		err = errors.Join(f.Chmod(mode), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncFolder(dir)
}

// syncFolder makes sure that the names in a folder are on disk.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
