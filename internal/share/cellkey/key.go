// Package cellkey is the secret that the terminals of a cell share. It generates a key, encodes it
// as text, reads it from a file and derives the keys for messages. No error and no formatting verb
// shows a key.
package cellkey

import (
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log/slog"
)

// Size is the length of a key in bytes.
const Size = 32

// TagSize is the length of a cell's tag in bytes.
const TagSize = 4

// Tag is the plaintext mark of a cell in each datagram, so that datagrams of other cells are
// rejected without decryption. Two cells have the same tag with a probability of 2^-32; then
// decryption fails.
type Tag [TagSize]byte

// String is the tag in hexadecimal.
func (t Tag) String() string { return fmt.Sprintf("%x", t[:]) }

// Key is a cell's secret. The zero value is no key. Keys are compared by ==.
type Key struct{ secret [Size]byte }

// New makes a key from the system's source of randomness.
func New() Key {
	var k Key
	rand.Read(k.secret[:]) // never fails (crypto/rand)
	return k
}

// Zero reports whether the key is unset.
func (k Key) Zero() bool { return k == Key{} }

// Purposes of derived values. Different purposes give different values.
const (
	tagPurpose     = "airtide share 1: tag of the cell"
	sessionPurpose = "airtide share 3: keys of session "
	bssPurpose     = "airtide share 1: access point "
)

// Tag is the tag of the key's cell.
func (k Key) Tag() Tag { return Tag(k.derive(tagPurpose, TagSize)) }

// Session returns the key of one session's datagrams: the key of AES-SIV that authenticates, and
// then the one that encrypts.
func (k Key) Session(session uint64) [2 * Size]byte {
	info := binary.LittleEndian.AppendUint64([]byte(sessionPurpose), session)
	return [2 * Size]byte(k.derive(string(info), 2*Size))
}

// BSS returns the hash by which members name an access point. It is never 0, which means an unknown
// access point.
func (k Key) BSS(bssid [6]byte) uint32 {
	return max(binary.LittleEndian.Uint32(k.derive(bssPurpose+string(bssid[:]), 4)), 1)
}

// derive is HKDF-Expand with SHA-256 (RFC 5869). It needs no extract step, because a key is
// uniformly random (section 3.3).
func (k Key) derive(purpose string, length int) []byte {
	derived, err := hkdf.Expand(sha256.New, k.secret[:], purpose, length)
	if err != nil {
		panic(err) // only for lengths beyond 255 hashes, and for short keys where FIPS 140 is enforced
	}
	return derived
}

// String names the key by its cell's tag.
func (k Key) String() string {
	if k.Zero() {
		return "no cell key"
	}
	return "key of cell " + k.Tag().String()
}

// Format writes String for every verb, so that no verb shows the secret.
func (k Key) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte(k.String())) }

// LogValue is String.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }
