package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"airtide/screen"
)

// useColor says whether to colour what goes to the file: on a terminal, unless NO_COLOR is set (no-color.org).
func useColor(f *os.File) bool {
	return screen.IsTerminal(f) && os.Getenv("NO_COLOR") == ""
}

// byteSize prints a number of bytes with a decimal prefix.
func byteSize(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.2f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.2f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d B", n)
}

// printJSON writes a value for people and programs alike.
func printJSON(w io.Writer, value any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(value)
}
