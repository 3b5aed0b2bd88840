package trace

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math"
)

// The version of the format that this package writes. A reader refuses a newer major version and
// skips unknown parts of a newer minor version. docs/reference/recording.md has the rules.
const (
	versionMajor = 1
	versionMinor = 2
)

// marker starts every block, and therefore the file. Its bytes betray a transfer that changed line
// ends or dropped the eighth bit, as PNG's signature does.
const marker = "\x89ATR\r\n\x1a\n"

// IsRecording reports whether data begins as a recording does.
func IsRecording(data []byte) bool { return bytes.HasPrefix(data, []byte(marker[:4])) }

// headerLen is the length of a block's header; the payload follows.
const headerLen = 64

// Limits that hold in every file. A block that exceeds one is damaged.
const (
	// MaxBlockRows is the most samples that a block that this package writes holds.
	MaxBlockRows = 8192
	maxRows      = 1 << 16  // a reader must expect as many rows
	maxPayload   = 64 << 20 // bytes of a payload
	maxDecoded   = 64 << 20 // bytes of a payload after decompression
)

type blockKind uint8

// The kinds of blocks.
const (
	blockHeader  blockKind = 1 + iota // JSON: metadata, columns, names of numbers
	blockFlows                        // JSON lines: definitions of flows
	blockSamples                      // a batch of samples, by columns
	blockEvents                       // events
	blockLoss                         // JSON: tcp.Loss
	blockEnd                          // JSON: totals; the recording ended cleanly
	blockRadio                        // JSON lines: records about radios
)

// header is the header of a block.
type header struct {
	kind         blockKind
	major, minor uint8
	sequence     uint32 // number of the block in its file
	payloadLen   uint32
	count        uint32 // samples, events, flows or records about radios
	// The time range of the block's samples, events or records.
	firstNs, lastNs int64
	lowest, highest uint32 // flow IDs
	payloadSum      uint32
}

// covers extends the header's times.
func (h *header) covers(firstNs, lastNs int64) {
	h.firstNs = min(h.firstNs, firstNs)
	h.lastNs = max(h.lastNs, lastNs)
}

// newHeader starts a header of a block without samples or events.
func newHeader(kind blockKind) header {
	return header{
		kind: kind, major: versionMajor, minor: versionMinor,
		firstNs: math.MaxInt64, lastNs: math.MinInt64, lowest: math.MaxUint32,
	}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, castagnoli) }

// put writes the header to the start of block. The rest of block is the payload.
func (h *header) put(block []byte) {
	payload := block[headerLen:]
	h.payloadSum = checksum(payload)
	h.payloadLen = uint32(len(payload))
	le := binary.LittleEndian
	copy(block, marker)
	block[8] = byte(h.kind)
	block[9] = h.major
	block[10] = h.minor
	block[11] = 0
	le.PutUint32(block[12:], h.sequence)
	le.PutUint32(block[16:], h.payloadLen)
	le.PutUint32(block[20:], h.count)
	le.PutUint64(block[24:], uint64(h.firstNs))
	le.PutUint64(block[32:], uint64(h.lastNs))
	le.PutUint32(block[40:], h.lowest)
	le.PutUint32(block[44:], h.highest)
	le.PutUint64(block[48:], 0)
	le.PutUint32(block[56:], h.payloadSum)
	le.PutUint32(block[60:], checksum(block[:60]))
}

// parseHeader reads a header. It reports false when the bytes are not a whole header of a version
// that is known.
func parseHeader(b []byte) (h header, ok bool) {
	if len(b) < headerLen || string(b[:len(marker)]) != marker {
		return h, false
	}
	le := binary.LittleEndian
	if le.Uint32(b[60:]) != checksum(b[:60]) {
		return h, false
	}
	h = header{
		kind: blockKind(b[8]), major: b[9], minor: b[10],
		sequence: le.Uint32(b[12:]), payloadLen: le.Uint32(b[16:]), count: le.Uint32(b[20:]),
		firstNs: int64(le.Uint64(b[24:])), lastNs: int64(le.Uint64(b[32:])),
		lowest: le.Uint32(b[40:]), highest: le.Uint32(b[44:]),
		payloadSum: le.Uint32(b[56:]),
	}
	return h, h.major == versionMajor && h.payloadLen <= maxPayload
}

// futureVersion returns the major version if the bytes start a block of a newer major version. The
// first ten bytes of a block have the same layout in all versions.
func futureVersion(b []byte) (int, bool) {
	if len(b) < 10 || string(b[:len(marker)]) != marker || b[9] <= versionMajor {
		return 0, false
	}
	return int(b[9]), true
}
