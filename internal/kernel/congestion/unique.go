package congestion

import (
	"crypto/rand"
	"errors"
)

// tries are names that are tried before giving up: 32^3 are possible.
const tries = 20

// LoadUnique loads an unpinned congestion control under a unique name: the kind's name, an
// underscore and three letters.
func LoadUnique(k Kind, p Parameters) (l *Loaded, err error) {
	for range tries {
		l, err = Load(k, Options{Name: withSuffix(k), Parameters: p})
		if !errors.Is(err, ErrInUse) {
			break
		}
	}
	return l, err
}

// suffixLetters leave room for the longest kind in the kernel's 15 letters.
const suffixLetters = 3

func withSuffix(k Kind) string {
	const letters = "abcdefghijklmnopqrstuvwxyz234567"
	var random [suffixLetters]byte
	_, _ = rand.Read(random[:]) // it ends the program rather than fail
	suffix := make([]byte, suffixLetters)
	for i, b := range random {
		suffix[i] = letters[int(b)%len(letters)]
	}
	return string(k) + "_" + string(suffix)
}
