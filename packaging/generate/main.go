// Command generate writes the files of a release that are derived from the built program: man
// pages from its help texts, a bill of materials from its build information, and the licences of
// the modules in it.
package main

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return errors.New("usage: generate man|sbom|licences BINARY OUTPUT")
	}
	kind := args[0]
	binary := args[1]
	output := args[2]
	switch kind {
	case "man":
		return writeManPages(binary, output)
	case "sbom":
		return writeSBOM(binary, output)
	case "licences":
		return writeLicences(binary, output)
	default:
		return fmt.Errorf("unknown kind %q: want man, sbom or licences", kind)
	}
}
