package file

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Set writes a value and an end of line into a file of the kernel, such as a sysctl, in one write.
// The file must exist.
func Set(path, value string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value + "\n")
	return errors.Join(err, f.Close())
}

// Line returns the value of a file of the kernel, without spaces around it.
func Line(path string) (string, error) {
	text, err := os.ReadFile(path)
	return strings.TrimSpace(string(text)), err
}

// Number returns the whole number in a file of the kernel.
func Number(path string) (int, error) {
	text, err := Line(path)
	if err != nil {
		return 0, err
	}
	value, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return value, nil
}
