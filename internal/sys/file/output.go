package file

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/privilege"
)

// ExistsError is the error of an output whose name is taken.
type ExistsError struct{ Path string }

func (e *ExistsError) Error() string {
	return e.Path + " exists: choose another name or overwrite it with --force"
}

// Unwrap returns fs.ErrExist.
func (*ExistsError) Unwrap() error { return fs.ErrExist }

// temporaryName is the pattern of temporary names.
const temporaryName = ".new-*"

// Output is a file that is being written. It is new and has no name until Publish or Commit gives
// it one, so a killed process leaves nothing. On a file system without such files, NFS and FAT
// among them, it has a temporary name in the folder of its path. Only its owner can read it, with
// any umask.
//
// A path that names a pipe or a character device is written in place. A pipe of another user is
// refused.
type Output struct {
	*os.File
	path      string
	temporary string // empty without a temporary name, and behind Publish
	unnamed   bool   // it has no name at all
	stream    bool   // a pipe or a device, which has no name to publish
	overwrite bool
}

// Create begins an output. If the name is taken and overwrite is not set, it returns an ExistsError
// before any work. A link is never followed: with overwrite, Publish replaces the link itself.
// Under sudo the file belongs to the user who called sudo.
func Create(path string, overwrite bool) (*Output, error) {
	o, err := create(path, overwrite)
	if err != nil || o.stream {
		return o, err
	}
	if err := privilege.GiveToCaller(o.File); err != nil {
		o.Discard()
		return nil, ofPath("", path, err)
	}
	return o, nil
}

// create begins an output that belongs to the user of this process.
func create(path string, overwrite bool) (*Output, error) {
	if IsStream(path) {
		stream, err := openStream(path)
		if err != nil {
			return nil, ofPath("", path, err)
		}
		return &Output{File: stream, path: path, stream: true}, nil
	}
	info, err := os.Lstat(path)
	if err == nil && info.IsDir() {
		return nil, ofPath("", path, unix.EISDIR)
	}
	if err == nil && !overwrite {
		return nil, &ExistsError{path}
	}
	o := &Output{path: path, overwrite: overwrite}
	f, err := openUnnamed(filepath.Dir(path))
	if err == nil {
		o.unnamed = true
	} else {
		// The name is unpredictable, and O_EXCL follows no link that was planted there.
		f, err = os.CreateTemp(filepath.Dir(path), temporaryName)
		if err != nil {
			return nil, ofPath("", path, err)
		}
		o.temporary = f.Name()
	}
	o.File = f
	if err := f.Chmod(0o600); err != nil { // a umask such as 0777 took more
		o.Discard()
		return nil, ofPath("", path, err)
	}
	return o, nil
}

// Stream reports whether the output is a pipe or a device.
func (o *Output) Stream() bool { return o.stream }

// Write writes data. The error names the path.
func (o *Output) Write(data []byte) (int, error) {
	n, err := o.File.Write(data)
	return n, ofPath(writing, o.path, err)
}

// Publish gives the output its name. Data that is written later goes to the same file. An output
// that is useful before it is whole, such as a recording, publishes at its beginning.
func (o *Output) Publish() error {
	if o.temporary == "" && !o.unnamed {
		return nil
	}
	err := o.link()
	if err == nil && o.temporary != "" {
		err = o.rename()
	}
	if err != nil {
		return ofPath(writing, o.path, err)
	}
	o.temporary = ""
	return nil
}

// openUnnamed makes a file without a name in a folder. It fails if link could not give it one.
func openUnnamed(dir string) (*os.File, error) {
	f, err := os.OpenFile(dir, unix.O_TMPFILE|os.O_RDWR|safely, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(descriptorPath(f)); err != nil { // /proc is hidden
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// descriptorPath is the path of an open file that has no name.
func descriptorPath(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

// link gives an output without a name its path if that is free. Otherwise the output gets a
// temporary name, because the kernel replaces a file only by another with a name.
func (o *Output) link() error {
	if !o.unnamed {
		return nil
	}
	linkAs := func(path string) error {
		return unix.Linkat(unix.AT_FDCWD, descriptorPath(o.File), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
	}
	err := linkAs(o.path)
	if errors.Is(err, unix.EEXIST) {
		if !o.overwrite {
			return &ExistsError{o.path}
		}
		for range 100 { // a name may be taken
			name := strings.ReplaceAll(temporaryName, "*", strconv.FormatUint(rand.Uint64(), 36))
			name = filepath.Join(filepath.Dir(o.path), name)
			if err = linkAs(name); !errors.Is(err, unix.EEXIST) {
				o.temporary = name
				break
			}
		}
	}
	if err != nil {
		o.temporary = ""
		return err
	}
	o.unnamed = false
	return nil
}

// Finish syncs the output and, if it is a stream, closes it. An output of several files finishes
// all before it publishes the first.
func (o *Output) Finish() error {
	if o.stream {
		return ofPath(writing, o.path, o.Close())
	}
	return ofPath(writing, o.path, o.Sync())
}

// Commit finishes and publishes the output. After an error the old file stays and nothing is left
// of the new one.
func (o *Output) Commit() error {
	err := o.Finish()
	if err == nil {
		err = o.Publish()
	}
	if err == nil && !o.stream {
		err = o.Close()
	}
	if err != nil {
		o.Discard()
		return ofPath(writing, o.path, err)
	}
	if !o.stream {
		return ofPath(writing, o.path, syncFolder(filepath.Dir(o.path)))
	}
	return nil
}

// Discard closes the output and removes it, unless it has its name. Behind Commit it does nothing.
func (o *Output) Discard() {
	o.Close()
	o.unnamed = false
	if o.temporary != "" {
		os.Remove(o.temporary)
		o.temporary = ""
	}
}

// rename gives the output its name. Without overwrite it fails if a file has appeared there.
func (o *Output) rename() error {
	if !o.overwrite {
		err := unix.Renameat2(unix.AT_FDCWD, o.temporary, unix.AT_FDCWD, o.path, unix.RENAME_NOREPLACE)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.EEXIST):
			return &ExistsError{o.path}
		}
		// Some file systems, those of SD cards among them, cannot refuse to replace: look, then
		// rename.
		if _, err := os.Lstat(o.path); err == nil {
			return &ExistsError{o.path}
		}
	}
	return os.Rename(o.temporary, o.path)
}

// descriptors are the folders whose links are those of the kernel: /dev/stdout, /dev/fd/3.
var descriptors = map[string]bool{"/dev": true, "/dev/fd": true, "/proc/self/fd": true}

// openWait is the longest wait for the reader of a pipe.
const openWait = time.Second

// IsStream reports whether Create writes a path in place: that of a pipe, of a device or of an open
// descriptor. A link to a device is none, because it may be planted.
func IsStream(path string) bool {
	if ofDescriptor(path) {
		return true
	}
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket|fs.ModeDevice) != 0
}

// ofDescriptor reports whether a path is a link of the kernel to an open file.
func ofDescriptor(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0 && descriptors[filepath.Dir(filepath.Clean(path))]
}

// openStream opens a stream to write.
func openStream(path string) (*os.File, error) {
	named := !ofDescriptor(path)
	flags := os.O_WRONLY | os.O_APPEND | safely
	if named {
		flags |= unix.O_NOFOLLOW
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := checkStream(info, named); err != nil {
		return nil, err
	}
	for begun := time.Now(); ; time.Sleep(openWait / 100) {
		f, err := os.OpenFile(path, flags, 0)
		if errors.Is(err, unix.ENXIO) && time.Since(begun) < openWait {
			continue // a pipe without a reader
		}
		if err != nil {
			return nil, err
		}
		info, err := f.Stat() // the path may lead to another file by now
		if err == nil {
			err = checkStream(info, named)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return f, nil
	}
}

// checkStream refuses block devices and sockets. A named pipe must belong to this user, to root or
// to the user who called sudo: another user may have put it in the place of the output, to read it.
func checkStream(info fs.FileInfo, named bool) error {
	mode := info.Mode()
	if mode&(fs.ModeSocket|fs.ModeDevice) != 0 && mode&fs.ModeCharDevice == 0 {
		return errors.New("it is a block device or a socket")
	}
	if named && mode&fs.ModeNamedPipe != 0 && ofAnotherUser(info) {
		return errors.New("it is a pipe of another user")
	}
	return nil
}

// ofAnotherUser reports whether a file belongs neither to this user, nor to root, nor to the user
// who called sudo.
func ofAnotherUser(info fs.FileInfo) bool {
	owner := int(info.Sys().(*syscall.Stat_t).Uid)
	return owner != 0 && owner != os.Geteuid() && !privilege.IsCaller(owner)
}

// CheckFolder refuses a folder for outputs if it is a link of another user, who may lead them
// elsewhere.
func CheckFolder(path string) error {
	path = filepath.Clean(path) // a slash at its end would follow the link
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 && ofAnotherUser(info) {
		return ofPath("", path, errors.New("it is a link of another user"))
	}
	return nil
}

// MakeFolder makes a folder for outputs that CheckFolder accepts, with those above it, unless it
// exists.
func MakeFolder(path string) error {
	if err := CheckFolder(path); err != nil {
		return err
	}
	return os.MkdirAll(path, 0o755)
}

// writing begins the errors of an output behind Create.
const writing = "writing "

// ofPath names the path of an output in an error, instead of its temporary name.
func ofPath(doing, path string, err error) error {
	if err == nil {
		return nil
	}
	var exists *ExistsError
	var named *pathError
	if errors.As(err, &exists) || errors.As(err, &named) {
		return err
	}
	var inner *fs.PathError
	if errors.As(err, &inner) {
		err = inner.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		err = link.Err
	}
	return &pathError{doing + path, err}
}

// pathError is an error of an output.
type pathError struct {
	what string // the path of the output
	err  error
}

func (e *pathError) Error() string { return e.what + ": " + e.err.Error() }

func (e *pathError) Unwrap() error { return e.err }
