// Package file opens and writes the files of users. A file may come from an attacker, and so may
// the folder around it.
//
// Open, OpenStream and Read neither wait nor read without a limit. Create and Write follow no link,
// make files that only their owner can read, and leave the old or the new content behind a crash or
// a power failure. A test in test/architecture forbids other ways.
package file

import (
	"errors"
	"io/fs"
	"os"
)

// Write replaces a file of airtide itself as a whole, such as a key or a state. The file gets a
// mode and belongs to the user of this process. Errors wrap those of the system, such as ENOSPC.
func Write(path string, data []byte, mode fs.FileMode) error {
	o, err := create(path, true)
	if err != nil {
		return err
	}
	return o.commit(path, data, mode)
}

// WriteOutput replaces a file that the user asked for as a whole, as Create with overwrite and
// Commit do.
func WriteOutput(path string, data []byte) error {
	o, err := Create(path, true)
	if err != nil {
		return err
	}
	return o.commit(path, data, 0o600)
}

func (o *Output) commit(path string, data []byte, mode fs.FileMode) error {
	_, err := o.Write(data)
	if err == nil && !o.Stream() {
		err = ofPath(writing, path, o.Chmod(mode))
	}
	if err != nil {
		o.Discard()
		return err
	}
	return o.Commit()
}

// syncFolder makes sure that the names in a folder are on disk.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Temporary returns a new file without a name, in the folder for temporary files. It is gone when
// it is closed.
func Temporary() (*os.File, error) {
	f, err := os.CreateTemp("", ".airtide-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
