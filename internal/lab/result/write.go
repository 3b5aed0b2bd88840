package result

import (
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/file"
)

// writeFile replaces a file as a whole. A power failure leaves the old or the new content. Results
// have the addresses and names that recordings have, so only their owner can read them.
func writeFile(path string, data []byte) error {
	return adviseOnFullDisk(file.WriteOutput(path, data))
}

// writeJSON writes a value as indented JSON.
func writeJSON(path string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding %s: %w", path, err)
	}
	return writeFile(path, append(data, '\n'))
}

// adviseOnFullDisk adds a remedy to the error of a full disk.
func adviseOnFullDisk(err error) error {
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		return fmt.Errorf("%w (finished runs are kept: free some space and resume)", err)
	}
	return err
}
