package message

import (
	"github.com/tink-crypto/tink-go/v2/daead/subtle"

	"airtide/internal/share/cellkey"
)

// sealer seals the datagrams of a session by AES-SIV (RFC 5297). Its synthetic nonce is a MAC of
// the header and the body, so a machine that returns to a snapshot and repeats its sequence numbers
// never encrypts two bodies alike. docs/design/sharing.md compares it with random nonces.
type sealer struct{ siv *subtle.AESSIV }

// sealSize is the length of the synthetic nonce in bytes, which is also the tag.
const sealSize = 16

// newSealer returns the sealer with the keys of a session.
func newSealer(k cellkey.Key, session uint64) *sealer {
	secret := k.Session(session)
	siv, err := subtle.NewAESSIV(secret[:])
	if err != nil {
		panic(err) // only for wrong lengths
	}
	return &sealer{siv}
}

// seal appends the tag and the encrypted body.
func (s *sealer) seal(dst, header, body []byte) []byte {
	sealed, err := s.siv.EncryptDeterministically(body, header)
	if err != nil {
		panic(err) // only for lengths beyond the address space
	}
	return append(dst, sealed...)
}

// open appends the decrypted body, if the tag is right.
func (s *sealer) open(dst, header, sealed []byte) ([]byte, error) {
	body, err := s.siv.DecryptDeterministically(sealed, header)
	if err != nil {
		return nil, errDoesNotOpen
	}
	return append(dst, body...), nil
}
