package cellkey

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

const (
	family     = "airtide-cell-"
	textPrefix = family + "1:"
	sumSize    = 4
	// textDigits is the number of base64 digits of a key with its checksum: 36 bytes without
	// padding.
	textDigits = (Size + sumSize) * 8 / 6
)

// digits is base64 with - and _ (RFC 4648, section 5): a key can be picked by a double click and
// stand in a URL.
var digits = base64.RawURLEncoding.Strict()

// Text returns the secret as text: airtide-cell-1: and 48 base64 digits, the last of which are a
// checksum.
func (k Key) Text() string {
	sum := checksum(k.secret[:])
	return textPrefix + digits.EncodeToString(append(k.secret[:], sum[:]...))
}

// checksum returns the first bytes of a hash. It reveals nothing that the text does not contain.
func checksum(secret []byte) [sumSize]byte {
	whole := sha256.Sum256(append([]byte(textPrefix), secret...))
	return [sumSize]byte(whole[:sumSize])
}

// Parse decodes the form of Text, with surrounding white space. An error describes the mistake and
// shows no part of the text.
func Parse(text string) (Key, error) {
	text = strings.TrimSpace(text)
	body, ok := strings.CutPrefix(text, textPrefix)
	switch {
	case text == "":
		return Key{}, errors.New("the cell key is empty: make one with airtide share key")
	case !ok && strings.HasPrefix(text, family):
		return Key{}, fmt.Errorf("the cell key is of another version: this program reads %s", textPrefix)
	case !ok:
		return Key{}, fmt.Errorf("this is no cell key: one begins with %s", textPrefix)
	case len(body) != textDigits:
		return Key{}, fmt.Errorf("the cell key has %d characters behind %s instead of %d: some are missing or too many",
			len(body), textPrefix, textDigits)
	}
	raw, err := digits.DecodeString(body)
	var corrupt base64.CorruptInputError
	if errors.As(err, &corrupt) {
		return Key{}, fmt.Errorf("the cell key's character %d behind %s is none of a key: copy it again",
			int64(corrupt)+1, textPrefix)
	}
	if err != nil || len(raw) != Size+sumSize {
		return Key{}, errors.New("the cell key is not whole: copy it again") // line breaks, which base64 skips
	}
	if sum := checksum(raw[:Size]); !bytes.Equal(sum[:], raw[Size:]) {
		return Key{}, errors.New("the cell key has a typing error: its checksum does not hold, copy it again")
	}
	k := Key{secret: [Size]byte(raw[:Size])}
	if k.Zero() {
		return Key{}, errors.New("the cell key is all zeros: make one with airtide share key")
	}
	return k, nil
}
