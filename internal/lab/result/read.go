package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"airtide/internal/recording/trace"
	"airtide/internal/sys/file"
)

// resultFile marks a finished run.
const resultFile = "result.json"

// ErrRecording says that a file is a recording.
var ErrRecording = errors.New("it is a recording, not a result")

// maxResult is the length of the longest result.json, in bytes.
const maxResult = 32 << 20

// Read reads a result.json. The error names the file.
func Read(path string) (*Result, error) {
	data, err := file.Read(path, maxResult)
	if _, ok := errors.AsType[*file.TooLargeError](err); ok && isRecording(path) {
		return nil, fmt.Errorf("%s: %w", path, ErrRecording)
	}
	if err != nil {
		return nil, fmt.Errorf("reading a result: %w", err)
	}
	return Decode(path, data)
}

// isRecording reports whether a file begins as a recording does.
func isRecording(path string) bool {
	f, err := file.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 64)
	n, _ := f.ReadAt(head, 0)
	return trace.IsRecording(head[:n])
}

// Decode reads the content of a result.json. The name of the file is for messages.
func Decode(file string, data []byte) (*Result, error) {
	if trace.IsRecording(data) {
		return nil, fmt.Errorf("%s: %w", file, ErrRecording)
	}
	var head struct {
		Version *int `json:"version"`
	}
	switch err := json.Unmarshal(data, &head); {
	case err != nil:
		return nil, fmt.Errorf("%s%s: not readable as a result: %w", file, place(data, err), err)
	case head.Version == nil || *head.Version < 1:
		return nil, fmt.Errorf("%s: not readable as a result: found no version of its format, expected at least 1",
			file)
	case *head.Version > Version:
		return nil, fmt.Errorf(
			"%s: found version %d of the format, expected at most %d: it was made by a newer airtide, read it "+
				"with that",
			file, *head.Version, Version,
		)
	}
	r := &Result{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fmt.Errorf("%s%s: not readable as a result: %w", file, place(data, err), err)
	}
	if err := r.check(); err != nil {
		return nil, fmt.Errorf("%s: not readable as a result: %w", file, err)
	}
	return r, nil
}

// place returns the position of a JSON error as :line:column.
func place(data []byte, err error) string {
	var offset int64
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &wrong):
		offset = wrong.Offset
	default:
		return ""
	}
	before := data[:min(max(offset-1, 0), int64(len(data)))]
	return fmt.Sprintf(":%d:%d", bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n'))
}

// check compares the parts of a result with each other. File names must stay within the run's
// folder, so that a manipulated result cannot expose other files.
func (r *Result) check() error {
	switch {
	case r.Experiment.Name == "" || r.Run == "":
		return errors.New("it does not name its experiment and run")
	case r.Repeat < 1:
		return fmt.Errorf("found repeat %d, expected at least 1", r.Repeat)
	case r.Ended.Before(r.Started):
		return fmt.Errorf("it ended at %s before it started at %s", r.Ended, r.Started)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Measurements)) {
		if err := r.Measurements[name].check(); err != nil {
			return fmt.Errorf("measurement %s: %w", name, err)
		}
	}
	for _, name := range r.files() {
		if !filepath.IsLocal(name) {
			return fmt.Errorf("found the file name %q, expected one in the run's folder", name)
		}
	}
	return nil
}

// files returns the names of all files in the result.
func (r *Result) files() []string {
	var names []string
	for _, f := range slices.Concat(r.Recordings, r.Captures, r.Sharing) {
		names = append(names, f.Name)
	}
	for _, f := range r.Flows {
		names = append(names, f.Output...)
	}
	for _, name := range []string{r.Series, r.KernelLog} {
		if name != "" {
			names = append(names, name)
		}
	}
	return names
}
