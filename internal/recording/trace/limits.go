package trace

import (
	"errors"
	"unicode/utf8"

	"airtide/internal/tcp"
)

// Limits of a scan. Each grows with the bytes of the whole blocks that the scan has read. So a
// small file takes neither much memory nor much time, and padding adds nothing.
// docs/design/recording.md compares them with the leanest recordings.
const (
	freeFlows     = 4096 // flows in a file of any size
	bytesPerFlow  = 24   // the leanest recording needs 28 bytes for a flow
	freeRows      = 1 << 19
	rowsPerByte   = 1 // the leanest recording needs 3 bytes for a sample
	repeatedFlows = 8 // definitions for each flow, on average
	freeChecked   = 64 << 20
	checkedRatio  = 8 // bytes checked behind damaged places, for each byte of the file
)

// Limits of single values. Longer text is cut.
const (
	maxName        = 64   // bytes of the name of a process, congestion control, interface or network
	maxPath        = 4096 // bytes of a cgroup's path (PATH_MAX)
	maxAddresses   = 256  // addresses of an interface
	maxText        = 4096 // bytes of an event's text
	maxDescription = 4 << 20
	maxLossText    = 256 << 10
	maxColumns     = 1024
	// maxExpansion is the largest ratio that the Snappy format reaches: a copy of 64 bytes takes 3.
	maxExpansion = 22
)

var (
	errManyFlows = errors.New("more flows than blocks of this size can hold")
	errManyRows  = errors.New("more samples or events than blocks of this size can hold")
	errLongText  = errors.New("longer than it can be")
)

// limits counts down the amounts that a scan may still deliver.
type limits struct {
	flows       int64 // different ones
	definitions int64
	rows        int64 // samples and events, delivered or not
	bytes       int64 // bytes of the blocks that raised them
}

func newLimits() limits {
	return limits{flows: freeFlows, definitions: repeatedFlows * freeFlows, rows: freeRows}
}

// extend raises the limits by those of a whole block of so many bytes.
func (l *limits) extend(bytes int64) {
	l.bytes += bytes
	flows := l.bytes/bytesPerFlow - (l.bytes-bytes)/bytesPerFlow
	l.flows += flows
	l.definitions += repeatedFlows * flows
	l.rows += rowsPerByte * bytes
}

// take subtracts n from left and reports whether that much was left.
func take(left *int64, n int64) bool {
	if *left < n {
		return false
	}
	*left -= n
	return true
}

// cutFlow cuts the texts of a flow to their limits.
func cutFlow(f *tcp.Flow) {
	f.Comm = cutText(f.Comm, maxName)
	f.CongestionControl = cutText(f.CongestionControl, maxName)
	f.CgroupPath = cutText(f.CgroupPath, maxPath)
}

// cutRadio cuts the texts of a record about a radio to their limits.
func cutRadio(r *tcp.Radio) {
	r.Interface = cutText(r.Interface, maxName)
	r.Station = cutText(r.Station, maxName)
	r.SSID = cutText(r.SSID, maxName)
	r.Addresses = r.Addresses[:min(len(r.Addresses), maxAddresses)]
}

// cutText cuts a text to a length in bytes, between two characters.
func cutText(s string, length int) string {
	if len(s) <= length {
		return s
	}
	for length > 0 && !utf8.RuneStart(s[length]) {
		length--
	}
	return s[:length]
}
