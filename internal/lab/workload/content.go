package workload

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"airtide/internal/sys/leftover"
)

// content is the folder with httpd's documents and files. It is a temporary folder, because httpd's
// user may be unable to read the run's folder.
type content struct{ root string }

const (
	contentPrefix = "airtide-http-"
	// zerosBytes exceeds the volume of every flow. The file is sparse and takes no space.
	zerosBytes = 1 << 40
	zerosName  = "zeros"
	// acceptedName is httpd's answer to an upload.
	acceptedName = "accepted.asis"
	accepted     = "Status: 204 No Content\r\n\r\n"
)

// plainPath matches paths that need no quotes in httpd's configuration.
var plainPath = regexp.MustCompile(`^[A-Za-z0-9_./+@=:-]+$`)

func newContent() (*content, error) {
	leftover.Remove(os.TempDir(), contentPrefix, leftover.Ended, os.RemoveAll)
	root, err := os.MkdirTemp("", contentPrefix+leftover.Owner(os.Getpid())+"-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for httpd: %w", err)
	}
	c := &content{root}
	if err := c.fill(); err != nil {
		return nil, errors.Join(err, c.remove())
	}
	return c, nil
}

func (c *content) fill() error {
	if !plainPath.MatchString(c.root) {
		return fmt.Errorf("httpd does not accept the name of the folder for temporary files, %q:  "+
			"set TMPDIR to one of letters, digits and _./-", c.root)
	}
	if err := os.Mkdir(c.documents(), 0o755); err != nil {
		return fmt.Errorf("making httpd's documents: %w", err)
	}
	// The permissions of other users must not depend on the umask.
	for _, folder := range []string{c.root, c.documents()} {
		if err := os.Chmod(folder, 0o755); err != nil {
			return fmt.Errorf("opening httpd's documents to its user: %w", err)
		}
	}
	if err := c.file(acceptedName, accepted, 0); err != nil {
		return err
	}
	return c.file(zerosName, "", zerosBytes)
}

// file makes a document: a text, followed by zeros up to the size.
func (c *content) file(name, text string, size int64) error {
	path := filepath.Join(c.documents(), name)
	err := os.WriteFile(path, []byte(text), 0o644)
	if err == nil && size > 0 {
		err = os.Truncate(path, size)
	}
	if err == nil {
		err = os.Chmod(path, 0o644)
	}
	if err != nil {
		return fmt.Errorf("making httpd's document: %w", err)
	}
	return nil
}

// uploadPath returns the file that curl uploads, on curl's machine.
func (c *content) uploadPath(size int64) string {
	return filepath.Join(c.root, "upload-"+strconv.FormatInt(size, 10))
}

func (c *content) documents() string { return filepath.Join(c.root, "documents") }

func (c *content) remove() error { return os.RemoveAll(c.root) }
