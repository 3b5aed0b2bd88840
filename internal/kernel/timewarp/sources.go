package timewarp

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path/filepath"

	"airtide/kmod"
)

// sourcesKey is what a module names the sources by that it was built from.
const sourcesKey = "airtide_sources"

func sources() fs.FS {
	files, err := fs.Sub(kmod.Timewarp, "timewarp")
	if err != nil {
		panic(err) // the name is a constant
	}
	return files
}

// sourcesHash tells these sources from others. kmod/timewarp/Kbuild computes it in the same way, so
// that DKMS's modules have it too.
func sourcesHash() string {
	hash := sha256.New()
	all, err := fs.ReadDir(sources(), ".") // by their names, as make sorts them
	for _, f := range all {
		if ending := filepath.Ext(f.Name()); ending != ".c" && ending != ".h" && f.Name() != "Kbuild" {
			continue
		}
		var text []byte
		if text, err = fs.ReadFile(sources(), f.Name()); err != nil {
			break
		}
		hash.Write(text)
	}
	if err != nil {
		panic(err) // they are in the binary
	}
	return hex.EncodeToString(hash.Sum(nil))[:16]
}

// checkSources says that a module (not compressed) is not of the sources in this binary. One that
// names none is of older ones.
func checkSources(path string) error {
	hash, err := moduleFact(path, sourcesKey)
	if err != nil {
		return err
	}
	if hash != sourcesHash() {
		return fmt.Errorf(
			"%s was built from other sources than those of this airtide: build it anew with airtide timewarp build",
			path,
		)
	}
	return nil
}
