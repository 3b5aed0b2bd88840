package trace

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/sys/clock"
	"airtide/internal/tcp"
)

// Metadata describes how a recording was made.
type Metadata struct {
	// Format is the format's version, "1.2". Create fills it in.
	Format string `json:"format"`
	// Tool is the version of the program that recorded.
	Tool string `json:"tool"`
	// Label is the user's own note.
	Label   string   `json:"label,omitempty"`
	Command []string `json:"command,omitempty"`

	Host   string `json:"host"`
	Kernel string `json:"kernel"` // release, as uname -r prints it
	Arch   string `json:"arch"`   // GOARCH
	CPUs   int    `json:"cpus"`
	// HZ is the kernel's timer frequency, the resolution of its jiffies; 0 when unknown.
	HZ     int    `json:"hz,omitempty"`
	BootID string `json:"boot_id"`

	// Source is "bpf" or "diag", and SourceDetail how it was attached.
	Source       string        `json:"source"`
	SourceDetail string        `json:"source_detail,omitempty"`
	Filter       filter.Filter `json:"filter"`
	// Density is a filter.Density as text: "every", "change", or a duration.
	Density string `json:"density"`
	// With names the parts that were recorded on demand, such as "drops".
	With []string `json:"with,omitempty"`
	// IntervalNs is the polling interval of the source diag.
	IntervalNs int64 `json:"interval_ns,omitempty"`

	// ClockMonotonicNs and ClockWallNs are CLOCK_MONOTONIC and CLOCK_REALTIME (since 1970) at the
	// same moment at the start, to within ClockUncertaintyNs.
	ClockMonotonicNs   int64 `json:"clock_monotonic_ns"`
	ClockWallNs        int64 `json:"clock_wall_ns"`
	ClockUncertaintyNs int64 `json:"clock_uncertainty_ns"`
	// ClockBootNs is CLOCK_BOOTTIME at that moment, which runs on while the host sleeps; 0 in
	// recordings without it.
	ClockBootNs int64 `json:"clock_boot_ns,omitempty"`
}

// WallNs turns a recorded time into nanoseconds since 1970. It does not follow steps of the wall
// clock that came during the recording.
func (m *Metadata) WallNs(monotonicNs int64) int64 {
	return monotonicNs - m.ClockMonotonicNs + m.ClockWallNs
}

// HostMetadata describes this host and reads its clocks. The caller adds the recording's own
// settings.
func HostMetadata() Metadata {
	m := Metadata{Arch: runtime.GOARCH, CPUs: runtime.NumCPU()}
	m.Host, _ = os.Hostname()
	var uname unix.Utsname
	if unix.Uname(&uname) == nil {
		m.Kernel = unix.ByteSliceToString(uname.Release[:])
	}
	if id, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil {
		m.BootID = strings.TrimSpace(string(id))
	}
	m.ClockMonotonicNs, m.ClockWallNs, m.ClockUncertaintyNs = readClocks()
	m.ClockBootNs = m.ClockMonotonicNs + clock.BootAhead()
	return m
}

// readClocks reads the wall clock between two readings of the monotonic clock, and keeps the
// closest of some tries.
func readClocks() (monotonicNs, wallNs, uncertaintyNs int64) {
	for try := range 8 {
		before := clock.Now()
		wall := time.Now().UnixNano()
		after := clock.Now()
		if half := (after-before)/2 + 1; try == 0 || half < uncertaintyNs {
			monotonicNs = before + (after-before)/2
			wallNs = wall
			uncertaintyNs = half
		}
	}
	return monotonicNs, wallNs, uncertaintyNs
}

// column describes a column of the samples blocks.
type column struct {
	ID     int    `json:"id"`
	Name   string `json:"name"`
	Unit   string `json:"unit"`
	Kind   string `json:"kind"`
	Doc    string `json:"doc"`
	Source string `json:"source,omitempty"`
}

// The names of the columns that are no fields.
const (
	timeName = "time_ns"
	flowName = "flow"
)

// description is the payload of the header block.
type description struct {
	Metadata Metadata `json:"metadata"`
	Columns  []column `json:"columns"`
	// Names are the names of numbers in events: of kinds, codes and so on. A name's place is its
	// number.
	Names map[string][]string `json:"names"`
}

var kindNames = []string{tcp.Gauge: "gauge", tcp.Counter: "counter", tcp.Enum: "enum", tcp.Flag: "flag"}

func describe(m Metadata) description {
	m.Format = fmt.Sprintf("%d.%d", versionMajor, versionMinor)
	d := description{Metadata: m, Columns: []column{
		{columnTime, timeName, "ns", "gauge", "time of the sample, CLOCK_MONOTONIC", ""},
		{columnFlow, flowName, "", "enum", "flow of the sample", ""},
	}}
	for f := range tcp.NumStored {
		i := f.Info()
		d.Columns = append(d.Columns, column{columnField + int(f), i.Name, i.Unit, kindNames[i.Kind], i.Doc, i.Source})
	}
	d.Names = map[string][]string{
		"event_kind":       names(func(i uint8) string { return tcp.EventKind(i).String() }),
		"code":             names(func(i uint8) string { return tcp.ErrorCode(i).String() }),
		"ca_state":         names(func(i uint8) string { return tcp.CAState(i).String() }),
		"state":            names(func(i uint8) string { return tcp.State(i).String() }),
		"retransmit_cause": names(func(i uint8) string { return tcp.Cause(i).String() }),
		"reason":           names(func(i uint8) string { return tcp.Reason(i).String() }),
	}
	return d
}

// names lists the names of numbers, beginning with 0. A number without a name prints as something
// that ends in itself.
func names(name func(uint8) string) (all []string) {
	for i := range uint8(255) {
		if n := name(i); strings.HasSuffix(n, fmt.Sprintf("_%d", i)) {
			break
		} else {
			all = append(all, n)
		}
	}
	return all
}

func (d *description) payload() ([]byte, error) {
	text, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("describing the recording: %w", err)
	}
	return text, nil
}
