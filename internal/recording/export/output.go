package export

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// outputs are the files of one export. They are written under temporary names in the same folder
// and renamed together at the end.
type outputs struct {
	overwrite bool
	stdout    io.Writer
	files     []*output
	madeDir   string // folder that this export created
}

// output is one file, or a stream that cannot be renamed: standard output, a named pipe, a device.
type output struct {
	*bufio.Writer
	path      string
	temporary string   // "" for a stream
	file      *os.File // nil for standard output
}

// create opens an output. It fails early if the name is taken, before a long encoding.
func (o *outputs) create(path string) (*output, error) {
	out := &output{path: path}
	switch info, err := os.Stat(path); {
	case path == "-":
		if o.stdout == nil {
			return nil, errors.New("there is no standard output to write to")
		}
		out.path = "standard output"
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("%s is a directory: name a file with -o", path)
	case err == nil && !info.Mode().IsRegular():
		out.file, err = os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, fmt.Errorf("opening output: %w", err)
		}
	case err == nil && !o.overwrite:
		return nil, takenError(path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("opening output: %w", err)
	default:
		out.file, err = createTemporary(path)
		if err != nil {
			return nil, describe(path, err)
		}
		out.temporary = out.file.Name()
	}
	if out.file == nil {
		out.Writer = bufio.NewWriterSize(named{out, o.stdout}, 1<<18)
	} else {
		out.Writer = bufio.NewWriterSize(named{out, out.file}, 1<<18)
	}
	o.files = append(o.files, out)
	return out, nil
}

// createTemporary creates a file beside path, with an unpredictable name that does not exist yet.
// Its mode follows the umask, which os.CreateTemp would not.
func createTemporary(path string) (*os.File, error) {
	for try := 0; ; try++ {
		name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%016x.partial", filepath.Base(path), rand.Uint64()))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if try < 100 && errors.Is(err, fs.ErrExist) {
			continue
		}
		return f, err
	}
}

// takenError says that a file exists already.
type takenError string

func (e takenError) Error() string {
	return string(e) + " exists: choose another name or overwrite it with --force"
}

// Unwrap makes it an fs.ErrExist.
func (takenError) Unwrap() error { return fs.ErrExist }

// named adds the name of the file and a remedy to a write error.
type named struct {
	out *output
	w   io.Writer
}

func (n named) Write(p []byte) (int, error) {
	written, err := n.w.Write(p)
	if err != nil {
		err = describe(n.out.path, err)
	}
	return written, err
}

// describe replaces the temporary file's name by the requested name and adds the remedy.
func describe(path string, err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		err = pathError.Err
	}
	advice := ""
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		advice = "; free some space, choose another place with -o, or export fewer fields or less time"
	case errors.Is(err, unix.EPIPE), errors.Is(err, io.ErrClosedPipe):
		advice = "; the program that reads the output has ended"
	case errors.Is(err, fs.ErrNotExist):
		advice = "; create the folder first"
	}
	return fmt.Errorf("writing %s: %w%s", path, err, advice)
}

// publish flushes all files and gives them their names.
func (o *outputs) publish() error {
	for _, f := range o.files {
		if err := f.Flush(); err != nil {
			return err
		}
		if f.file != nil {
			if err := f.file.Close(); err != nil {
				return describe(f.path, err)
			}
			f.file = nil
		}
	}
	for _, f := range o.files {
		if f.temporary == "" {
			continue
		}
		if err := o.rename(f.temporary, f.path); err != nil {
			return err
		}
		f.temporary = ""
	}
	return nil
}

// rename fails if a file has appeared under the name, unless overwriting is allowed.
func (o *outputs) rename(from, to string) error {
	if !o.overwrite {
		err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EEXIST):
			return takenError(to)
		}
		// Some file systems, those of SD cards among them, cannot refuse to replace: look, then
		// rename.
		if _, err := os.Lstat(to); err == nil {
			return takenError(to)
		}
	}
	if err := os.Rename(from, to); err != nil {
		return describe(to, err)
	}
	return nil
}

// remove deletes the unpublished files.
func (o *outputs) remove() {
	for _, f := range o.files {
		if f.file != nil {
			f.file.Close()
			f.file = nil
		}
		if f.temporary != "" {
			os.Remove(f.temporary)
			f.temporary = ""
		}
	}
	if o.madeDir != "" {
		os.Remove(o.madeDir) // fails when something else has been put there, which is right
	}
}

func (o *outputs) paths() []string {
	var paths []string
	for _, f := range o.files {
		paths = append(paths, f.path)
	}
	return paths
}

// createTables opens one file for each table.
func (o *outputs) createTables(path, extension string) (samples, events, flows *output, err error) {
	names := map[Table]string{}
	info, statErr := os.Stat(path)
	isDir := strings.HasSuffix(path, "/") || statErr == nil && info.IsDir()
	for _, t := range []Table{Samples, Events, Flows} {
		switch {
		case isDir:
			names[t] = filepath.Join(path, string(t)+extension)
		case t == Samples:
			names[t] = path
		default:
			names[t] = strings.TrimSuffix(path, extension) + "." + string(t) + extension
		}
	}
	if isDir && statErr != nil {
		if err := os.Mkdir(path, 0o777); err != nil {
			return nil, nil, nil, describe(path, err)
		}
		o.madeDir = path
	}
	samples, err = o.create(names[Samples])
	if err != nil {
		return nil, nil, nil, err
	}
	events, err = o.create(names[Events])
	if err != nil {
		return nil, nil, nil, err
	}
	flows, err = o.create(names[Flows])
	return samples, events, flows, err
}

// isStream reports whether a path is standard output, a pipe or a device. A stream holds one table
// and not three.
func isStream(path string) bool {
	if path == "-" {
		return true
	}
	info, err := os.Stat(path)
	return err == nil && !info.Mode().IsRegular() && !info.IsDir()
}
