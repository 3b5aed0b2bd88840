package cellkey

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"airtide/internal/sys/file"
)

// longestFile is more than a key with any space around it needs.
const longestFile = 1024

// Read reads a key from a file, and during a rotation the old one on a second line. The file must
// be readable and writable by its owner only.
func Read(path string) (Pair, error) {
	if strings.HasPrefix(strings.TrimSpace(path), family) {
		// Not shown: an error that names the file would show the key.
		return Pair{}, errors.New(
			"reading the cell key: a key was given where the name of its file is expected: write it into a file " +
				"that only you can read, and name that",
		)
	}
	k, err := read(path)
	if err != nil {
		return Pair{}, fmt.Errorf("reading the cell key from %s: %w", path, err)
	}
	return k, nil
}

func read(path string) (Pair, error) {
	f, err := file.Open(path)
	if err != nil {
		return Pair{}, bare(err)
	}
	defer f.Close()
	// The open file is examined, because the path may lead to another file later.
	info, err := f.Stat()
	if err != nil {
		return Pair{}, bare(err)
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 && (mode&0o037 != 0 || !isCredential(path)) {
		return Pair{}, fmt.Errorf(
			"others than its owner may use the file (mode %04o): run chmod 600 %s, and make a new key if "+
				"somebody may have read this one",
			mode, path,
		)
	}
	text, err := io.ReadAll(io.LimitReader(f, longestFile+1))
	if err != nil {
		return Pair{}, bare(err)
	}
	if len(text) > longestFile {
		return Pair{}, errors.New("the file is too long for a cell key")
	}
	return parsePair(string(text))
}

// isCredential reports whether systemd made the file for this service (LoadCredential). Such a file
// shows the right of the service's user as that of a group (systemd.exec(5), acl(5)).
func isCredential(path string) bool {
	folder := os.Getenv("CREDENTIALS_DIRECTORY")
	return folder != "" && filepath.Dir(path) == filepath.Clean(folder)
}

// Create writes a key into a new file that only its owner can read and write. It does not replace
// an existing file.
func Create(path string, k Key) error {
	if k.Zero() {
		return errors.New("writing the cell key: there is no key")
	}
	if err := create(path, k); err != nil {
		return fmt.Errorf("writing the cell key to %s: %w", path, err)
	}
	return nil
}

func create(path string, k Key) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return errors.New("the file exists: remove it if no terminal uses its key any more")
	}
	if err != nil {
		return bare(err)
	}
	err = f.Chmod(0o600) // a umask such as 0777 took more
	if err == nil {
		_, err = f.WriteString(k.Text() + "\n")
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		// Half a key would be in the way of the next attempt.
		return errors.Join(bare(err), os.Remove(path))
	}
	return nil
}

// bare leaves out the path, which the caller names.
func bare(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
