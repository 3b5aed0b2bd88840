// Package cellkey is the secret that the terminals of one cell share: it makes one, writes it down
// as text, reads it from a file, and derives from it what messages need. No error and no formatting
// verb shows a key.
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

// Tag tells cells apart in clear: a datagram of a cell with another key is known by it without
// decrypting. Two cells have the same one with a probability of 2^-32, and then the datagrams of
// the other fail to decrypt.
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

// Zero says that this is no key.
func (k Key) Zero() bool { return k == Key{} }

// What derived values are for. Each names its own, so that no two of them are ever equal.
const (
	tagPurpose     = "airtide share 1: tag of the cell"
	sessionPurpose = "airtide share 1: key of session "
	bssPurpose     = "airtide share 1: access point "
)

// Tag is the tag of the key's cell.
func (k Key) Tag() Tag { return Tag(k.derive(tagPurpose, TagSize)) }

// Session is the key under which one session's datagrams are sealed.
func (k Key) Session(session uint64) [Size]byte {
	info := binary.LittleEndian.AppendUint64([]byte(sessionPurpose), session)
	return [Size]byte(k.derive(string(info), Size))
}

// BSS is an access point's BSSID as members tell it each other: enough to tell access points apart.
// It is never 0, which stands for one that is not known.
func (k Key) BSS(bssid [6]byte) uint32 {
	return max(binary.LittleEndian.Uint32(k.derive(bssPurpose+string(bssid[:]), 4)), 1)
}

// derive is HKDF-Expand with SHA-256 (RFC 5869). A key is uniformly random already, so there is
// nothing to extract (section 3.3 there).
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

// Format writes String for every verb: none shows the secret.
func (k Key) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte(k.String())) }

// LogValue is String.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }
