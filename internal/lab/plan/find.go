package plan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"airtide/experiments"
	"airtide/internal/lab/document"
	"airtide/internal/sys/file"
	"airtide/internal/units"
)

// Experiments returns the names of the experiments of airtide, the one for beginners first.
func Experiments() []string {
	const first = "quickstart"
	names := slices.DeleteFunc(experiments.Names(), func(name string) bool { return name == first })
	return slices.Insert(names, 0, first)
}

// Open reads an experiment from a file or, by name, from those that come with airtide.
func Open(ctx context.Context, arg string) (*Plan, error) {
	data, err := find(arg)
	if err != nil {
		return nil, err
	}
	return Read(ctx, arg, data)
}

// OpenCell reads the cell of a file or, by name, of an experiment that comes with airtide.
func OpenCell(arg string) (*CellFile, error) {
	data, err := find(arg)
	if err != nil {
		return nil, err
	}
	return ReadCell(arg, data)
}

// find returns the text of a file or of an experiment that comes with airtide.
func find(arg string) ([]byte, error) {
	data, err := readStart(arg)
	if err == nil {
		return data, nil
	}
	if errors.Is(err, fs.ErrNotExist) && !strings.Contains(arg, "/") {
		embedded, err := experiments.Read(strings.TrimSuffix(arg, experiments.Ending))
		if err == nil {
			return embedded, nil
		}
		near := units.Nearest(arg, experiments.Names())
		if near != "" {
			near = " (did you mean " + near + "?)"
		}
		return nil, fmt.Errorf("%s is neither a file nor an experiment that comes with airtide%s: "+
			"airtide lab list shows them", arg, near)
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	return nil, fmt.Errorf("%s: %w, expected %s", arg, err, document.Wanted)
}

// readStart reads no more of a file than shows that it is too large.
func readStart(path string) ([]byte, error) {
	f, err := file.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, document.MaxBytes+1))
}
