package cellkey_test

import (
	"encoding/base64"

	"airtide/internal/share/cellkey"
)

// The key 00 01 .. 1f, and what follows from it.
const (
	knownText    = "airtide-cell-1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9K66xW"
	knownTag     = "978b8745"
	knownSession = "6a16e74a4b95a4dc6ab46c11a764c7c75d7de5f1bb45c7440f09fabed2d2cd99" // of session 0123456789abcdef
)

// secretOf takes the secret out of the key's text.
func secretOf(k cellkey.Key) []byte {
	raw, err := base64.RawURLEncoding.DecodeString(k.Text()[len("airtide-cell-1:"):])
	if err != nil {
		panic(err)
	}
	return raw[:cellkey.Size]
}
