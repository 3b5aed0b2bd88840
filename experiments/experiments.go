// Package experiments embeds the experiments and terminal profiles that come with airtide.
package experiments

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Ending is the file name suffix of experiments and terminal profiles.
const Ending = ".yaml"

//go:embed *.yaml */*.yaml
var files embed.FS

// terminals is the folder of the terminal profiles; the other folders hold experiments.
const terminals = "terminals"

// Names returns the names of all experiments, without folder and ending, in alphabetical order.
func Names() []string { return names(func(folder string) bool { return folder != terminals }) }

// Profiles returns the names of all terminal profiles, in alphabetical order.
func Profiles() []string { return names(func(folder string) bool { return folder == terminals }) }

// Read returns the text of the experiment with this name. If it does not exist, the error is
// fs.ErrNotExist.
func Read(name string) ([]byte, error) {
	for _, file := range list() {
		if folder := path.Dir(file); folder != terminals && path.Base(file) == name+Ending {
			return files.ReadFile(file)
		}
	}
	return nil, fmt.Errorf("experiment %q: %w", name, fs.ErrNotExist)
}

// ReadProfile returns the text of the terminal profile with this name. If it does not exist, the
// error is fs.ErrNotExist.
func ReadProfile(name string) ([]byte, error) {
	return files.ReadFile(path.Join(terminals, name+Ending))
}

func names(accept func(folder string) bool) []string {
	var all []string
	for _, file := range list() {
		if accept(path.Dir(file)) {
			all = append(all, strings.TrimSuffix(path.Base(file), Ending))
		}
	}
	slices.Sort(all)
	return all
}

// list returns the paths of all files. The patterns are constant, so they cannot fail.
func list() []string {
	top, _ := fs.Glob(files, "*"+Ending)
	inFolders, _ := fs.Glob(files, "*/*"+Ending)
	return append(top, inFolders...)
}
