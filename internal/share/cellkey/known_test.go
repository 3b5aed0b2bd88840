package cellkey_test

import (
	"encoding/base64"

	"airtide/internal/share/cellkey"
)

// The key 00 01 .. 1f, and the values derived from it.
const (
	knownText = "airtide-cell-1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9K66xW"
	knownTag  = "978b8745"
	// knownSession is the key of session 0123456789abcdef.
	knownSession = "a243f29404b10b1e19940e8ef3495130754add771ba3522b51bc373b39c6a8b6" +
		"846f98e0ce617ce6d77eb4daec1ca3fea4b61fb1783d14c17c751a6a973d7f67"
)

// secretOf takes the secret out of the key's text.
func secretOf(k cellkey.Key) []byte {
	raw, err := base64.RawURLEncoding.DecodeString(k.Text()[len("airtide-cell-1:"):])
	if err != nil {
		panic(err)
	}
	return raw[:cellkey.Size]
}
