package message

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// A bundle holds reports that a hub forwards. Each report is unchanged and has the source from
// which the hub received it, and the hub seals all of them together. The plaintext header is like
// that of a report, with another first byte.
const (
	magicBundle     = 0xa8
	bundleFixedSize = 9 // the hub's challenge and flags
	entrySize       = 16 + 2 + 2
	shortestBundle  = headerSize + lengthSize + bundleFixedSize + sealSize
)

const flagNotConfirmed = 1 << 0 // the receiver has not answered the hub's challenge

// entry is a report in a bundle.
type entry struct {
	source   netip.AddrPort
	datagram []byte
}

func (e *entry) size() int { return entrySize + len(e.datagram) }

// bundleSize returns the length of a bundle of reports of equal length.
func bundleSize(reports, payload int) int { return shortestBundle + reports*(entrySize+payload) }

// bundledReports returns the number of reports for which a hub waits before it sends bundles. It is
// the number that arrives within half a period on average, limited by the size of a bundle.
func bundledReports(payload, others int) int {
	fit := max(1, (MaxDatagram-shortestBundle)/(entrySize+payload))
	return min(max(1, others/2), fit)
}

// appendBundle appends the body of a bundle. The entries follow the fixed part, to which later
// minor versions append fields.
func appendBundle(dst []byte, challenge uint64, confirmed bool, entries []entry) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, bundleFixedSize)
	dst = binary.LittleEndian.AppendUint64(dst, challenge)
	flags := byte(0)
	if !confirmed {
		flags |= flagNotConfirmed
	}
	dst = append(dst, flags)
	for _, e := range entries {
		address := e.source.Addr().As16()
		dst = append(dst, address[:]...)
		dst = binary.LittleEndian.AppendUint16(dst, e.source.Port())
		dst = binary.LittleEndian.AppendUint16(dst, uint16(len(e.datagram)))
		dst = append(dst, e.datagram...)
	}
	return dst
}

// bundle is a decrypted bundle.
type bundle struct {
	challenge uint64
	confirmed bool
	entries   []byte // encoded
}

func decodeBundle(b []byte) (bundle, error) {
	if len(b) < lengthSize+bundleFixedSize {
		return bundle{}, fmt.Errorf("%w: a bundle of %d bytes", errMalformed, len(b))
	}
	fixed := int(binary.LittleEndian.Uint16(b))
	rest := b[lengthSize:]
	if fixed < bundleFixedSize || fixed > len(rest) {
		return bundle{}, fmt.Errorf("%w: the fixed part of a bundle has %d of %d bytes", errMalformed, fixed, len(b))
	}
	out := bundle{binary.LittleEndian.Uint64(rest), rest[8]&flagNotConfirmed == 0, rest[fixed:]}
	if out.challenge == 0 {
		return bundle{}, fmt.Errorf("%w: a bundle without a challenge", errImplausible)
	}
	for entries := out.entries; len(entries) > 0; {
		var err error
		_, entries, err = cutEntry(entries)
		if err != nil {
			return bundle{}, err
		}
	}
	return out, nil
}

// cutEntry decodes the first entry and returns the rest.
func cutEntry(b []byte) (entry, []byte, error) {
	if len(b) < entrySize {
		return entry{}, nil, fmt.Errorf("%w: an entry of %d bytes", errMalformed, len(b))
	}
	address := netip.AddrFrom16([16]byte(b[:16])).Unmap()
	port := binary.LittleEndian.Uint16(b[16:])
	length := int(binary.LittleEndian.Uint16(b[18:]))
	b = b[entrySize:]
	if length > len(b) {
		return entry{}, nil, fmt.Errorf("%w: an entry has %d bytes, %d are left", errMalformed, length, len(b))
	}
	return entry{netip.AddrPortFrom(address, port), b[:length]}, b[length:], nil
}

func sealBundle(dst []byte, sealer *sealer, h header, body []byte) []byte {
	return sealAs(dst, magicBundle, sealer, h, body)
}

func isBundle(datagram []byte) bool { return len(datagram) > 0 && datagram[0] == magicBundle }
