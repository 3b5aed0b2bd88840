package message

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"hash"

	"golang.org/x/crypto/chacha20"

	"airtide/internal/share/cellkey"
)

// sealer seals the datagrams of a session by SIV (Rogaway and Shrimpton 2006). A hash of the header
// and the body is both the nonce and the tag, so a machine that returns to a snapshot and repeats
// its sequence numbers never encrypts two bodies alike. One goroutine uses it at a time.
type sealer struct {
	encrypt [chacha20.KeySize]byte
	mac     hash.Hash
	length  [8]byte
	sum     [sha256.Size]byte
}

// sealSize is the length of the tag in bytes.
const sealSize = 16

// newSealer returns the sealer with the keys of a session.
func newSealer(k cellkey.Key, session uint64) *sealer {
	encrypt, authenticate := k.Session(session)
	return &sealer{encrypt: encrypt, mac: hmac.New(sha256.New, authenticate[:])}
}

// tag hashes the length of the plaintext header, the header and the body.
func (s *sealer) tag(header, body []byte) []byte {
	binary.LittleEndian.PutUint64(s.length[:], uint64(len(header)))
	s.mac.Reset()
	s.mac.Write(s.length[:])
	s.mac.Write(header)
	s.mac.Write(body)
	return s.mac.Sum(s.sum[:0])[:sealSize]
}

// apply encrypts or decrypts by XChaCha20, whose nonce is the tag and 8 bytes of zero.
func (s *sealer) apply(dst, src, tag []byte) {
	var nonce [chacha20.NonceSizeX]byte
	copy(nonce[:], tag)
	c, err := chacha20.NewUnauthenticatedCipher(s.encrypt[:], nonce[:])
	if err != nil {
		panic(err) // only for wrong lengths
	}
	c.XORKeyStream(dst, src)
}

// seal appends the encrypted body and the tag. dst and body do not overlap.
func (s *sealer) seal(dst, header, body []byte) []byte {
	tag := s.tag(header, body)
	start := len(dst)
	dst = append(dst, body...)
	s.apply(dst[start:], body, tag)
	return append(dst, tag...)
}

// open appends the decrypted body, if the tag is right. dst and sealed do not overlap.
func (s *sealer) open(dst, header, sealed []byte) ([]byte, error) {
	if len(sealed) < sealSize {
		return nil, errDoesNotOpen
	}
	body, tag := sealed[:len(sealed)-sealSize], sealed[len(sealed)-sealSize:]
	start := len(dst)
	dst = append(dst, body...)
	s.apply(dst[start:], body, tag)
	if subtle.ConstantTimeCompare(tag, s.tag(header, dst[start:])) != 1 {
		clear(dst[start:])
		return nil, errDoesNotOpen
	}
	return dst, nil
}
