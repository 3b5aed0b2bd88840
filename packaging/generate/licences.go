package main

import (
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
)

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)`)

// licencesIn returns the texts of the licence files of a folder, each below its name.
func licencesIn(folder string) (string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s:\n\n%s\n", e.Name(), strings.TrimSpace(string(text)))
	}
	if b.Len() == 0 {
		return "", fmt.Errorf("%s has no licence", folder)
	}
	return b.String(), nil
}

// writeLicences writes the licences of Go and of all modules of a program into one file.
func writeLicences(binary, path string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	root, err := goCommand("env", "GOROOT")
	if err != nil {
		return err
	}
	var b strings.Builder
	write := func(name, folder string) error {
		text, err := licencesIn(folder)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		fmt.Fprintf(&b, "%s\n%s\n\n%s\n\n", name, strings.Repeat("=", len(name)), text)
		return nil
	}
	if err := write("Go "+info.GoVersion, root); err != nil {
		return err
	}
	for _, m := range info.Deps {
		folder, err := moduleFolder(m)
		if err != nil {
			return err
		}
		if err := write(m.Path+" "+m.Version, folder); err != nil {
			return err
		}
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

// moduleFolder is the folder of a module in Go's cache.
func moduleFolder(m *debug.Module) (string, error) {
	return goCommand("list", "-m", "-f", "{{.Dir}}", m.Path)
}

func goCommand(args ...string) (string, error) {
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
