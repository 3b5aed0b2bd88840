package message

import (
	"encoding/binary"
	"errors"
	"fmt"

	"airtide/internal/share/cellkey"
)

// Version is the major version of the format. Version 1 repeated nonces on a machine that returned
// to a snapshot. Version 2 was sealed by a construction of its own.
const Version = 3

// MaxDatagram is the longest accepted datagram in bytes. With the headers of IPv6 and UDP it fits
// into 1280 bytes, the smallest MTU of IPv6. Reports of this version have at most 640 bytes.
const MaxDatagram = 1232

// A datagram begins with a plaintext header: a magic byte, the major version, the cell's tag, the
// session and the sequence number. The header is authenticated.
const (
	magic      = 0xa7
	atVersion  = 1
	atTag      = 2
	atSession  = atTag + cellkey.TagSize
	atSequence = atSession + 8
	headerSize = atSequence + 4
	shortest   = headerSize + shortestOf1 + sealSize
)

// VersionError means that a datagram has another major version of the format.
type VersionError struct{ Version uint8 }

func (e VersionError) Error() string {
	return fmt.Sprintf("a report has version %d of the format: this program speaks version %d, "+
		"run the same release on all terminals", e.Version, Version)
}

var (
	errTooLong     = fmt.Errorf("the datagram is longer than %d bytes", MaxDatagram)
	errNoReport    = errors.New("the datagram is not of airtide share")
	errOtherCell   = errors.New("the report is of a cell with another key")
	errDoesNotOpen = errors.New("the cell's key does not open the report")
)

// header is the plaintext part of a datagram.
type header struct {
	tag      cellkey.Tag
	session  uint64
	sequence uint32
}

func (h header) appendAs(dst []byte, kind byte) []byte {
	dst = append(dst, kind, Version)
	dst = append(dst, h.tag[:]...)
	dst = binary.LittleEndian.AppendUint64(dst, h.session)
	return binary.LittleEndian.AppendUint32(dst, h.sequence)
}

// parseHeader decodes the plaintext part. It is cheap, so it is the first check. Sessions and
// sequence numbers are never zero.
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

// TagOf returns the tag of a report's cell from its plaintext part. The reason is Accepted if that
// part is valid.
func TagOf(datagram []byte) (cellkey.Tag, Reason) {
	h, err := parseHeader(datagram)
	return h.tag, reasonOf(err)
}

// seal appends the datagram of a report: the header and the encrypted body. Both are authenticated.
func seal(dst []byte, to *sealer, h header, body []byte) []byte {
	return sealAs(dst, magic, to, h, body)
}

func sealAs(dst []byte, kind byte, to *sealer, h header, body []byte) []byte {
	start := len(dst)
	dst = h.appendAs(dst, kind)
	return to.seal(dst, dst[start:], body)
}

// open appends the decrypted body of a datagram.
func open(dst []byte, by *sealer, datagram []byte) ([]byte, error) {
	return by.open(dst, datagram[:headerSize], datagram[headerSize:])
}
