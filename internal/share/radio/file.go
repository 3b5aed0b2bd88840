package radio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"

	sysfile "airtide/internal/sys/file"
)

// RateFile is the content of a PHY rate file. It is used if nl80211 does not know the rate: for
// radios with proprietary drivers, for a bridge between terminal and radio, and for emulated
// radios.
type RateFile struct {
	PHYRateBps float64 `json:"phy_rate_bps"`
	Standard   string  `json:"standard"` // 802.11b, a, g, n, ac, ax or be
	Streams    int     `json:"streams"`  // spatial streams; 0 stands for 1
	// BSSID is the access point's address, such as 02:00:00:00:00:01. FrequencyMHz is the channel's
	// frequency. Both are optional.
	BSSID        string `json:"bssid,omitempty"`
	FrequencyMHz int    `json:"frequency_mhz,omitempty"`
	// Busy is the part of the last second in which the channel was busy, 0 to 1. It is optional.
	Busy float64 `json:"busy,omitempty"`
}

// FileExample is the content of a PHY rate file, for help texts.
const FileExample = `{"phy_rate_bps": 866700000, "standard": "802.11ac", "streams": 2}`

// Standards are the standards that a PHY rate file can name, in order.
func Standards() []string { return slices.Sorted(maps.Keys(standards)) }

// maxFileSize is the greatest size of the file, in bytes.
const maxFileSize = 4096

// Write replaces the file atomically.
func (t RateFile) Write(path string) error {
	text, err := json.Marshal(t)
	if err == nil {
		err = sysfile.Write(path, append(text, '\n'), 0o644)
	}
	if err != nil {
		return fmt.Errorf("writing a PHY rate: %w", err)
	}
	return nil
}

// parse decodes the file. A rate of 0 means no rate, for example between two access points. Busy
// counts without a rate, too.
func parse(text []byte) (PHY, error) {
	var t RateFile
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return PHY{}, fmt.Errorf("%w: want JSON such as %s", err, FileExample)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return PHY{}, errors.New("there is more than one JSON object")
	}
	generation, known := standards[t.Standard]
	switch {
	case !known:
		return PHY{}, fmt.Errorf("standard is %q: want one of %s", t.Standard, strings.Join(Standards(), ", "))
	case t.PHYRateBps < 0 || t.PHYRateBps > 0 && t.PHYRateBps < 1e5 || t.PHYRateBps > 1e11:
		return PHY{}, fmt.Errorf("phy_rate_bps is %g: want 100 kbit/s to 100 Gbit/s in bit/s, or 0 for none",
			t.PHYRateBps)
	case t.Streams < 0 || t.Streams > 8:
		return PHY{}, fmt.Errorf("streams is %d: want 1 to 8", t.Streams)
	case t.FrequencyMHz < 0 || t.FrequencyMHz > 100_000:
		return PHY{}, fmt.Errorf("frequency_mhz is %d: want that of a channel, such as 5180", t.FrequencyMHz)
	case !(t.Busy >= 0 && t.Busy <= 1):
		return PHY{}, fmt.Errorf("busy is %g: want the busy part of the time, 0 to 1", t.Busy)
	}
	p := PHY{
		Bps: t.PHYRateBps, Generation: generation, Streams: max(t.Streams, 1),
		Place: Place{MHz: t.FrequencyMHz, Busy: t.Busy},
	}
	if t.BSSID != "" {
		address, err := net.ParseMAC(t.BSSID)
		if err != nil || len(address) != len(p.BSSID) {
			return PHY{}, fmt.Errorf("bssid is %q: want an address such as 02:00:00:00:00:01", t.BSSID)
		}
		p.BSSID = BSSID(address)
	}
	return p, nil
}

// file is a source.
type file struct {
	path   string
	notice func(string)
	said   string // the last message, "" while all is well
}

// OpenFile reads a rate file twice a second until Close. An invalid file is an error at the
// beginning. Later an invalid file means an unknown rate, and notice is called once with the
// reason.
func OpenFile(path string, notice func(string)) (*Radio, error) {
	f := &file{path: filepath.Clean(path), notice: notice}
	if _, err := f.read(); err != nil {
		return nil, err
	}
	return begin(f), nil
}

func (f *file) read() (PHY, error) {
	from, err := sysfile.Open(f.path)
	if err != nil {
		return PHY{}, fmt.Errorf("reading the PHY rate: %w", err)
	}
	defer from.Close()
	text, err := io.ReadAll(io.LimitReader(from, maxFileSize))
	if err != nil {
		return PHY{}, fmt.Errorf("reading the PHY rate: %w", err)
	}
	p, err := parse(text)
	if err != nil {
		return PHY{}, fmt.Errorf("reading the PHY rate: %s: %w", f.path, err)
	}
	return p, nil
}

func (f *file) now() (PHY, error) {
	p, err := f.read()
	if err != nil {
		if said := err.Error(); said != f.said {
			f.said = said
			f.notice(said)
		}
		return p, err
	}
	f.said = ""
	if p.Bps == 0 && p.Busy == 0 {
		return p, fmt.Errorf("%w: %s tells a rate of 0", ErrNone, f.path)
	}
	return p, nil
}

// Close does nothing.
func (*file) Close() error { return nil }
