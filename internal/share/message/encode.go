package message

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// fields is the fixed part of a report in the order of its bytes. Later minor versions append
// fields. Only another major version changes or removes fields.
type fields struct {
	Challenge       uint64
	PeriodMs        uint32
	State           State
	MaxSource       Source
	Flags           uint16
	Weight          uint16
	FlowsUp         uint16
	FlowsDown       uint16
	MaxKbps         Rate
	PHYKbps         Rate
	DeliveryKbps    Rate
	DemandKbps      Rate
	UploadKbps      Rate
	DownloadKbps    Rate
	BoundKbps       Rate
	MinRTTUs        uint32
	SmoothedRTTUs   uint32
	RTT95Us         uint32
	QueuedBytes     uint32
	Retransmissions uint32
	Errors          [4]uint32
	BSS             uint32
}

const (
	flagApplicationLimited = 1 << 0
	flagForeignQueues      = 1 << 13 // after the bits of the probe
	flagSingleFrames       = 1 << 14
	flagBothFamilies       = 1 << 15
)

// Sizes in bytes.
const (
	fieldsSize      = 90
	firstFieldsSize = 86 // size in the first minor version, without BSS
	lengthSize      = 2  // size of the fixed part's length
	countSize       = 2  // size of two counts: of echoes, and of those that want an answer
	echoSize        = 8
	shortestOf1     = lengthSize + firstFieldsSize + countSize
)

// MaxEchoes is the greatest number of answers in a report.
const MaxEchoes = 64

var (
	errMalformed   = errors.New("malformed report")
	errImplausible = errors.New("implausible report")
)

// appendBody appends the plaintext of a report with the sender's challenge and its answers. The
// first wanting answers go to sessions from which the sender needs an answer.
func appendBody(dst []byte, r *Report, challenge uint64, echoes []uint64, wanting int) ([]byte, error) {
	if len(echoes) > MaxEchoes || wanting > len(echoes) {
		return dst, fmt.Errorf("%d echoes, %d of which want an answer: a report has room for %d",
			len(echoes), wanting, MaxEchoes)
	}
	f := fields{
		Challenge: challenge, PeriodMs: r.PeriodMs, State: r.State, MaxSource: r.MaxSource, Weight: r.Weight,
		FlowsUp: r.FlowsUp, FlowsDown: r.FlowsDown, MaxKbps: r.MaxKbps, PHYKbps: r.PHYKbps,
		DeliveryKbps: r.DeliveryKbps, DemandKbps: r.DemandKbps,
		UploadKbps: r.UploadKbps, DownloadKbps: r.DownloadKbps, BoundKbps: r.BoundKbps,
		MinRTTUs: r.MinRTTUs, SmoothedRTTUs: r.SmoothedRTTUs, RTT95Us: r.RTT95Us, QueuedBytes: r.QueuedBytes,
		Retransmissions: r.Retransmissions, Errors: r.Errors, BSS: r.BSS,
	}
	f.Flags = r.Probe.flags()
	if r.ApplicationLimited {
		f.Flags |= flagApplicationLimited
	}
	if r.ForeignQueues {
		f.Flags |= flagForeignQueues
	}
	if r.SingleFrames {
		f.Flags |= flagSingleFrames
	}
	if r.BothFamilies {
		f.Flags |= flagBothFamilies
	}
	dst = binary.LittleEndian.AppendUint16(dst, fieldsSize)
	dst, err := binary.Append(dst, binary.LittleEndian, &f)
	if err != nil {
		return dst, fmt.Errorf("encoding a report: %w", err)
	}
	dst = append(dst, byte(len(echoes)), byte(wanting))
	for _, e := range echoes {
		dst = binary.LittleEndian.AppendUint64(dst, e)
	}
	return dst, nil
}

// body is a decrypted report.
type body struct {
	report    Report // report without session and sequence
	challenge uint64
	echoes    []byte // complete echoes
	wanting   int    // the number of leading echoes that want an answer
}

// decodeBody decodes a report of this or another minor version. Errors wrap errMalformed or
// errImplausible.
func decodeBody(b []byte) (body, error) {
	if len(b) < shortestOf1 {
		return body{}, fmt.Errorf("%w: %d bytes, want at least %d", errMalformed, len(b), shortestOf1)
	}
	fixed := int(binary.LittleEndian.Uint16(b))
	rest := b[lengthSize:]
	if fixed < firstFieldsSize || fixed > len(rest)-countSize {
		return body{}, fmt.Errorf("%w: the fixed part has %d of %d bytes", errMalformed, fixed, len(b))
	}
	count := int(rest[fixed])
	wanting := int(rest[fixed+1])
	echoes := rest[fixed+countSize:]
	if count > MaxEchoes || wanting > count || len(echoes) != count*echoSize {
		return body{}, fmt.Errorf("%w: %d echoes, %d of which want an answer, in %d bytes",
			errMalformed, count, wanting, len(echoes))
	}
	var known [fieldsSize]byte // fields that an earlier minor version lacks are zero
	copy(known[:], rest[:fixed])
	var f fields
	if _, err := binary.Decode(known[:], binary.LittleEndian, &f); err != nil {
		return body{}, fmt.Errorf("%w: %w", errMalformed, err)
	}
	out := body{challenge: f.Challenge, echoes: echoes, wanting: wanting, report: Report{
		PeriodMs: f.PeriodMs, State: f.State, MaxKbps: f.MaxKbps, MaxSource: f.MaxSource, PHYKbps: f.PHYKbps,
		DeliveryKbps: f.DeliveryKbps, ApplicationLimited: f.Flags&flagApplicationLimited != 0, DemandKbps: f.DemandKbps,
		UploadKbps: f.UploadKbps, DownloadKbps: f.DownloadKbps, BoundKbps: f.BoundKbps, Weight: f.Weight,
		MinRTTUs: f.MinRTTUs, SmoothedRTTUs: f.SmoothedRTTUs, RTT95Us: f.RTT95Us, QueuedBytes: f.QueuedBytes,
		FlowsUp: f.FlowsUp, FlowsDown: f.FlowsDown, Probe: probeOf(f.Flags),
		ForeignQueues: f.Flags&flagForeignQueues != 0, SingleFrames: f.Flags&flagSingleFrames != 0,
		BothFamilies: f.Flags&flagBothFamilies != 0, BSS: f.BSS, Counts: Counts{f.Retransmissions, f.Errors},
	}}
	if f.Challenge == 0 {
		return body{}, fmt.Errorf("%w: no challenge", errImplausible)
	}
	if err := out.report.Check(); err != nil {
		return body{}, fmt.Errorf("%w: %w", errImplausible, err)
	}
	return out, nil
}

// echoed reports whether a report answers a challenge, and whether its sender wants an answer.
func (b *body) echoed(challenge uint64) (answered, wanting bool) {
	for i := 0; i < len(b.echoes); i += echoSize {
		if binary.LittleEndian.Uint64(b.echoes[i:]) == challenge {
			return true, i < b.wanting*echoSize
		}
	}
	return false, false
}
