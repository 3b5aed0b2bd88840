package trace

import (
	"errors"
	"fmt"
	"io/fs"
)

// Errors that concern a file as a whole. Damage to parts of a file is not an error: see [Damage].
var (
	// ErrForeign: the file is of another kind.
	ErrForeign = errors.New("not an airtide recording")
	// ErrEmpty: the recording was stopped before it had begun.
	ErrEmpty = errors.New("the recording is empty: it was stopped before anything was written")
	// ErrLocked: another process writes the file.
	ErrLocked = errors.New("is being written by another recording; choose another file, or stop that recording first")

	// ErrDeleted: somebody has deleted the file while it was written.
	ErrDeleted = errors.New("the file has been deleted: nothing is left of the recording")
	// ErrTruncated: somebody has made the file shorter while it was written.
	ErrTruncated = errors.New("another program has truncated the file")

	// errInterrupted: the context of a scan has ended.
	errInterrupted = errors.New("interrupted")

	errNotRegular = errors.New("it is not a regular file, and a recording must be one")
	errMetadata   = errors.New("malformed description of the recording")
)

// MovedError is returned at the end of a recording whose path leads to another file or to none.
type MovedError struct{ Path string }

func (e *MovedError) Error() string {
	return e.Path + " is not the recording: it was moved or replaced meanwhile, and is whole under its new name"
}

// ofFile names the file of an error once.
func ofFile(path string, err error) error {
	if named := (*fs.PathError)(nil); errors.As(err, &named) {
		err = named.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// VersionError is returned for a recording in a newer format version that this package cannot read.
type VersionError struct {
	Path  string
	Major int // major version of the file's format
}

func (e *VersionError) Error() string {
	return fmt.Sprintf(
		"%s: it has format version %d, and this airtide reads up to version %d; read it with a "+
			"newer airtide",
		e.Path, e.Major, versionMajor)
}
