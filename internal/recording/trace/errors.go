package trace

import (
	"errors"
	"fmt"
)

// What can be wrong with a file as a whole. Damage to parts of it is no error: see [Damage].
var (
	// ErrForeign: the file is of another kind.
	ErrForeign = errors.New("not an airtide recording")
	// ErrEmpty: the recording was stopped before it had begun.
	ErrEmpty = errors.New("the recording is empty: it was stopped before anything was written")
	// ErrLocked: another process writes the file.
	ErrLocked = errors.New("is being written by another recording; choose another file, or stop that recording first")
	// ErrExists: the file is there already.
	ErrExists = errors.New("exists already; choose another file, or allow it to be overwritten")

	// errInterrupted: the context of a scan has ended.
	errInterrupted = errors.New("interrupted")

	errMetadata = errors.New("malformed description of the recording")
)

// VersionError says that a recording was made by a newer version, which this one cannot read.
type VersionError struct {
	Path  string
	Major int // of the file's format
}

func (e *VersionError) Error() string {
	return fmt.Sprintf(
		"opening trace %s: it has format version %d, and this airtide reads up to version %d; read it with a "+
			"newer airtide",
		e.Path, e.Major, versionMajor)
}
