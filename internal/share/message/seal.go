package message

import (
	"crypto/cipher"
	"encoding/binary"
	"errors"
	"fmt"

	"golang.org/x/crypto/chacha20poly1305"

	"airtide/internal/share/cellkey"
)

// Version is the major version of the format.
const Version = 1

// MaxDatagram is the longest datagram in bytes that is looked at: what fits a packet of 1280 bytes,
// IPv6's smallest MTU, behind the headers of IPv6 and UDP. This version's own are at most 640 bytes
// long.
const MaxDatagram = 1232

// A datagram begins in clear: a magic byte, the major version, the cell's tag, the session and the
// sequence number. All of it is authenticated with the rest.
const (
	magic      = 0xa7
	atVersion  = 1
	atTag      = 2
	atSession  = atTag + cellkey.TagSize
	atSequence = atSession + 8
	headerSize = atSequence + 4
	sealSize   = chacha20poly1305.Overhead
	shortest   = headerSize + shortestOf1 + sealSize
)

// VersionError is a datagram of another major version of the format than this program speaks.
type VersionError struct{ Version uint8 }

func (e VersionError) Error() string {
	return fmt.Sprintf("a report in version %d of the format: this program speaks version %d, run the same release on all terminals", e.Version, Version)
}

var (
	errTooLong     = fmt.Errorf("a datagram longer than %d bytes", MaxDatagram)
	errNoReport    = errors.New("no datagram of airtide share")
	errOtherCell   = errors.New("a report of a cell with another key")
	errDoesNotOpen = errors.New("a report that the cell's key does not open")
)

// header is the clear part of a datagram.
type header struct {
	tag      cellkey.Tag
	session  uint64
	sequence uint32
}

func (h header) append(dst []byte) []byte { return h.appendAs(dst, magic) }

func (h header) appendAs(dst []byte, kind byte) []byte {
	dst = append(dst, kind, Version)
	dst = append(dst, h.tag[:]...)
	dst = binary.LittleEndian.AppendUint64(dst, h.session)
	return binary.LittleEndian.AppendUint32(dst, h.sequence)
}

// parseHeader reads the clear part. It costs next to nothing, and so comes before anything else. A
// session or sequence number of zero is no sender's.
func parseHeader(datagram []byte) (header, error) { return parseHeaderOf(magic, shortest, datagram) }

func parseHeaderOf(kind byte, shortest int, datagram []byte) (header, error) {
	switch {
	case len(datagram) > MaxDatagram:
		return header{}, errTooLong
	case len(datagram) < 2 || datagram[0] != kind:
		return header{}, errNoReport
	case datagram[atVersion] != Version:
		return header{}, VersionError{datagram[atVersion]}
	case len(datagram) < shortest:
		return header{}, errNoReport
	}
	h := header{
		tag:      cellkey.Tag(datagram[atTag:atSession]),
		session:  binary.LittleEndian.Uint64(datagram[atSession:]),
		sequence: binary.LittleEndian.Uint32(datagram[atSequence:]),
	}
	if h.session == 0 || h.sequence == 0 {
		return header{}, errNoReport
	}
	return h, nil
}

// TagOf is the tag of a report's cell. Nothing but clear bytes has been looked at; Accepted says
// that they are a report's.
func TagOf(datagram []byte) (cellkey.Tag, Reason) {
	h, err := parseHeader(datagram)
	return h.tag, reasonOf(err)
}

// sessionCipher is XChaCha20-Poly1305 under a session's own key.
func sessionCipher(k cellkey.Key, session uint64) cipher.AEAD {
	key := k.Session(session)
	aead, err := chacha20poly1305.NewX(key[:])
	if err != nil {
		panic(err) // only for keys of another length
	}
	return aead
}

// nonce is a report's: a key belongs to one session, whose sequence numbers never repeat.
func nonce(sequence uint32) (n [chacha20poly1305.NonceSizeX]byte) {
	binary.LittleEndian.PutUint32(n[:], sequence)
	return n
}

// seal appends a report's datagram: the header, and the body encrypted and authenticated with it.
func seal(dst []byte, aead cipher.AEAD, h header, body []byte) []byte {
	return sealAs(dst, magic, aead, h, body)
}

func sealAs(dst []byte, kind byte, aead cipher.AEAD, h header, body []byte) []byte {
	start := len(dst)
	dst = h.appendAs(dst, kind)
	n := nonce(h.sequence)
	return aead.Seal(dst, n[:], body, dst[start:])
}

// open appends the body of a datagram to dst.
func open(dst []byte, aead cipher.AEAD, h header, datagram []byte) ([]byte, error) {
	n := nonce(h.sequence)
	plain, err := aead.Open(dst, n[:], datagram[headerSize:], datagram[:headerSize])
	if err != nil {
		return nil, errDoesNotOpen
	}
	return plain, nil
}

// Open reads one datagram by itself, for tools that show what is on the network: without any proof
// that it is no recording. Agents use a Receiver.
func Open(k cellkey.Key, datagram []byte) (Report, error) {
	h, err := parseHeader(datagram)
	if err != nil {
		return Report{}, err
	}
	if h.tag != k.Tag() {
		return Report{}, errOtherCell
	}
	plain, err := open(nil, sessionCipher(k, h.session), h, datagram)
	if err != nil {
		return Report{}, err
	}
	b, err := decodeBody(plain)
	if err != nil {
		return Report{}, err
	}
	b.report.Session, b.report.Sequence = h.session, h.sequence
	return b.report, nil
}
