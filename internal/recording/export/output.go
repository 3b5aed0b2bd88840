package export

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/file"
)

// outputs are the files of one export. They get their names together, at the end.
type outputs struct {
	overwrite bool
	stdout    io.Writer
	files     []*output
	madeDir   string // folder that this export created
}

// output is one file, or standard output.
type output struct {
	*bufio.Writer
	path string
	file *file.Output // nil for standard output
}

// create opens an output. It fails early if the name is taken, before a long encoding.
func (o *outputs) create(path string) (*output, error) {
	out := &output{path: path}
	if path == "-" {
		if o.stdout == nil {
			return nil, errors.New("there is no standard output to write to")
		}
		out.path = "standard output"
	} else {
		f, err := file.Create(path, o.overwrite)
		if errors.Is(err, unix.EISDIR) {
			return nil, fmt.Errorf("%w: name a file with -o", err)
		}
		if err != nil {
			return nil, advise(err)
		}
		out.file = f
	}
	out.Writer = bufio.NewWriterSize(unbuffered{out, o.stdout}, 1<<18)
	o.files = append(o.files, out)
	return out, nil
}

// unbuffered writes to the file or to standard output. It adds a remedy to an error.
type unbuffered struct {
	out    *output
	stdout io.Writer
}

func (u unbuffered) Write(p []byte) (int, error) {
	if u.out.file != nil {
		n, err := u.out.file.Write(p)
		return n, advise(err)
	}
	n, err := u.stdout.Write(p)
	if err != nil {
		var inner *fs.PathError
		if errors.As(err, &inner) {
			err = inner.Err
		}
		err = advise(fmt.Errorf("writing %s: %w", u.out.path, err))
	}
	return n, err
}

// advise adds a remedy to an error of an output.
func advise(err error) error {
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return fmt.Errorf("%w; free some space, choose another place with -o, or export fewer fields or less time", err)
	case errors.Is(err, unix.EPIPE), errors.Is(err, io.ErrClosedPipe):
		return fmt.Errorf("%w; the program that reads the output has ended", err)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w; create the folder first", err)
	}
	return err
}

// publish completes all files, and only then gives them their names.
func (o *outputs) publish() error {
	for _, f := range o.files {
		if err := f.Flush(); err != nil {
			return err
		}
		if f.file != nil {
			if err := f.file.Finish(); err != nil {
				return advise(err)
			}
		}
	}
	for _, f := range o.files {
		if f.file != nil && !f.file.Stream() {
			if err := errors.Join(f.file.Publish(), f.file.Close()); err != nil {
				return err
			}
		}
	}
	return nil
}

// remove deletes the unpublished files.
func (o *outputs) remove() {
	for _, f := range o.files {
		if f.file != nil {
			f.file.Discard()
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

// createTables opens one file for each table, or for the only one that is wanted. The others are
// nil.
func (o *outputs) createTables(path, extension string, options *Options) (map[Table]*output, error) {
	info, statErr := os.Stat(path)
	isDir := strings.HasSuffix(path, "/") || statErr == nil && info.IsDir()
	if isDir {
		if err := file.CheckFolder(path); err != nil {
			return nil, err
		}
	}
	if isDir && statErr != nil {
		if err := os.Mkdir(path, 0o755); err != nil {
			return nil, advise(err)
		}
		o.madeDir = path
	}
	tables := map[Table]*output{}
	only := options.Table
	for _, t := range []Table{Samples, Events, Flows, Radio} {
		name := strings.TrimSuffix(path, extension) + "." + string(t) + extension
		switch {
		case only != "" && t != only, only == "" && t == Radio && !options.Radio:
			continue
		case isDir:
			name = filepath.Join(path, string(t)+extension)
		case t == Samples, t == only:
			name = path
		}
		table, err := o.create(name)
		if err != nil {
			return nil, err
		}
		tables[t] = table
	}
	return tables, nil
}

// isStream reports whether a path is standard output, a pipe or a device. A stream holds one table
// and not three.
func isStream(path string) bool { return path == "-" || file.IsStream(path) }
