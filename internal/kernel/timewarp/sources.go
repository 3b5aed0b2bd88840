package timewarp

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"path/filepath"

	"airtide/kmod"
)

// sourcesKey is the modinfo key with the hash of a module's sources.
const sourcesKey = "airtide_sources"

func sources() fs.FS {
	files, err := fs.Sub(kmod.Timewarp, "timewarp")
	if err != nil {
		panic(err) // the name is a constant
	}
	return files
}

// sourcesHash returns the hash of the embedded sources. kmod/timewarp/Kbuild computes the same hash
// for modules built by DKMS.
func sourcesHash() string {
	hash := sha256.New()
	all, err := fs.ReadDir(sources(), ".") // sorted by name, as make sorts them
	for _, f := range all {
		if ending := filepath.Ext(f.Name()); ending != ".c" && ending != ".h" && f.Name() != "Kbuild" {
			continue
		}
		var text []byte
		text, err = fs.ReadFile(sources(), f.Name())
		if err != nil {
			break
		}
		hash.Write(text)
	}
	if err != nil {
		panic(err) // they are in the binary
	}
	return hex.EncodeToString(hash.Sum(nil))[:16]
}

// checkSources returns an error if an uncompressed module was built from other sources than those
// of this binary. A module without a hash is older.
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
