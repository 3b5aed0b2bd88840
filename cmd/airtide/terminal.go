package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	"airtide/internal/view/screen"
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

// quietFor is how long something may take without a word.
const quietFor = 2 * time.Second

// patiently says on a terminal what is going on when it takes long.
func patiently(what string, f func() error) error {
	begun := time.Now()
	return telling(begun, func() string { return what + ": " + time.Since(begun).Truncate(time.Second).String() }, f)
}

// telling says on a terminal, second by second, how far something is that takes long. It may be a part of what has begun
// before.
func telling(begun time.Time, how func() string, f func() error) error {
	if !screen.IsTerminal(os.Stderr) {
		return f()
	}
	done, said := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(said)
		next := max(quietFor-time.Since(begun), 0)
		for line := ""; ; next = time.Second {
			select {
			case <-done:
				if line != "" {
					fmt.Fprint(os.Stderr, clearLine(true))
				}
				return
			case <-time.After(next):
				line = clearLine(true) + how()
				fmt.Fprint(os.Stderr, line)
			}
		}
	}()
	err := f()
	close(done)
	<-said
	return err
}
