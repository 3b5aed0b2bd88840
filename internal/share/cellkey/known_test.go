package cellkey_test

import (
	"encoding/base64"

	"airtide/internal/share/cellkey"
)

// The key 00 01 .. 1f, and what follows from it.
const (
	knownText = "airtide-cell-1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9K66xW"
	knownTag  = "978b8745"
	// knownSession is both keys of session 0123456789abcdef.
	knownSession = "bec0f44103fe10e8623d07e4a8481b24f9a292f49ff5bb79b344d39626189808" +
		"bad315e318bfe932b29887255a74b954d440a85a85cb5e7796157186c43e70f5"
)

// secretOf takes the secret out of the key's text.
func secretOf(k cellkey.Key) []byte {
	raw, err := base64.RawURLEncoding.DecodeString(k.Text()[len("airtide-cell-1:"):])
	if err != nil {
		panic(err)
	}
	return raw[:cellkey.Size]
}
