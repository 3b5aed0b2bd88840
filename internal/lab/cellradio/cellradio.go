// Package cellradio tells about the radios of emulated cells as nl80211 tells about real ones, so
// that recordings of both have the same records.
package cellradio

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"time"

	"airtide/internal/cell"
	"airtide/internal/cell/live"
	"airtide/internal/kernel/sockets/owner"
	"airtide/internal/observe/source"
	"airtide/internal/sys/clock"
	"airtide/internal/tcp"
)

// askEvery is the time between two looks at a cell, that of real radios. Times of the channel come
// each surveyEvery looks.
const (
	askEvery    = 100 * time.Millisecond
	surveyEvery = 10
)

// Source observes cells.
type Source struct{ cells []asked }

// asked is a cell that can be asked.
type asked interface {
	Ask() (*live.Report, error)
	Close() error
}

// own is a cell of this process.
type own struct {
	name string
	cell *cell.Cell
}

func (o own) Ask() (*live.Report, error) {
	status, err := o.cell.Status()
	if err != nil {
		return nil, err
	}
	return &live.Report{Name: o.name, Hosts: o.cell.Hosts(), Status: status}, nil
}

// Close does nothing: the cell goes on.
func (own) Close() error { return nil }

// Of observes a cell of this process.
func Of(name string, c *cell.Cell) *Source { return &Source{cells: []asked{own{name, c}}} }

// Open connects to the running cells. It returns nil if there are none, or if they are those of
// another user.
func Open() (source.Radios, error) {
	ids, err := live.Find()
	if errors.Is(err, os.ErrPermission) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := &Source{}
	for _, id := range ids {
		c, err := live.Dial(id)
		if err != nil {
			continue // it has ended since
		}
		s.cells = append(s.cells, c)
	}
	if len(s.cells) == 0 {
		return nil, nil
	}
	return s, nil
}

// Close closes the connections.
func (s *Source) Close() error {
	var err error
	for _, c := range s.cells {
		err = errors.Join(err, c.Close())
	}
	return err
}

// Run delivers records until the context ends, or until deliver fails. A cell that ends has no more
// records.
func (s *Source) Run(ctx context.Context, deliver func(*tcp.Radio) error) error {
	ticker := time.NewTicker(askEvery)
	defer ticker.Stop()
	recorders := make([]recorder, len(s.cells))
	cells := slices.Clone(s.cells)
	for look := 0; ; look++ {
		for i, c := range cells {
			if c == nil {
				continue
			}
			report, err := c.Ask()
			if err != nil {
				cells[i] = nil
				continue
			}
			for _, record := range recorders[i].records(report, clock.Now(), look%surveyEvery == 0) {
				if err := deliver(&record); err != nil {
					return err
				}
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// recorder makes records of the reports of a cell.
type recorder struct {
	told map[string]tcp.Radio // the last record of each interface
	of   map[string]uint32    // network namespaces of the terminals
}

// accessPoint is the address of the other end of each link.
const accessPoint = "02:00:00:00:00:01"

// records are those of the terminals with a radio. The interface has the terminal's name, and the
// network the cell's.
func (r *recorder) records(report *live.Report, now int64, survey bool) (all []tcp.Radio) {
	hosts := map[string]cell.Host{}
	for _, h := range report.Hosts {
		hosts[h.Name] = h
	}
	for i := range report.Status.Terminals {
		t := &report.Status.Terminals[i]
		if t.Ethernet {
			continue
		}
		netns := r.netns(hosts[t.Name])
		if at := interfaceOf(t, netns, hosts[t.Name], report.Name); !reflect.DeepEqual(r.told[t.Name], at) {
			if r.told == nil {
				r.told = map[string]tcp.Radio{}
			}
			r.told[t.Name] = at
			at.TimeNs = now
			all = append(all, at)
		}
		all = append(all, tcp.Radio{
			TimeNs: now, Kind: tcp.RadioStation, Interface: t.Name, NetNS: netns, Station: accessPoint,
			Values: stationValues(t),
		})
		if survey {
			all = append(all, tcp.Radio{
				TimeNs: now, Kind: tcp.RadioChannel, Interface: t.Name, NetNS: netns,
				Values: channelValues(t, report.Status),
			})
		}
	}
	return all
}

// netns is the network namespace of a terminal; 0 for an interface outside, whose namespace the
// cell does not tell.
func (r *recorder) netns(h cell.Host) uint32 {
	if h.Namespace == "" {
		return 0
	}
	inode, known := r.of[h.Namespace]
	if !known {
		inode, _ = owner.ParseNetNS(h.Namespace) // 0: it is gone, and the cell with it
		if r.of == nil {
			r.of = map[string]uint32{}
		}
		r.of[h.Namespace] = inode
	}
	return inode
}

func interfaceOf(t *cell.TerminalStatus, netns uint32, h cell.Host, name string) tcp.Radio {
	at := tcp.Radio{
		Kind: tcp.RadioInterface, Interface: t.Name, NetNS: netns, SSID: name, Values: tcp.NoRadioValues(),
	}
	for _, a := range []netip.Addr{h.Address, h.Address6} {
		if a.IsValid() {
			at.Addresses = append(at.Addresses, a)
		}
	}
	return at
}

func stationValues(t *cell.TerminalStatus) tcp.RadioValues {
	v := tcp.NoRadioValues()
	v[tcp.RadioTxRateBps] = cmp.Or(t.PHYRateBps, tcp.Absent)
	v[tcp.RadioRxRateBps] = cmp.Or(t.PHYRateBps, tcp.Absent)
	v[tcp.RadioTxPackets] = t.Up.DeliveredPackets + t.Up.GivenUp
	v[tcp.RadioRxPackets] = t.Down.DeliveredPackets
	v[tcp.RadioTxBytes] = t.Up.DeliveredBytes
	v[tcp.RadioRxBytes] = t.Down.DeliveredBytes
	v[tcp.RadioTxRetries] = t.Up.Retries
	v[tcp.RadioTxFailed] = t.Up.GivenUp
	v[tcp.RadioTxAirtimeUs] = t.Up.AirtimeNs / 1000
	v[tcp.RadioRxAirtimeUs] = t.Down.AirtimeNs / 1000
	v[tcp.RadioQueuePackets] = t.Queue.Length.Now
	v[tcp.RadioQueueDrops] = t.Queue.Dropped
	return v
}

// channelValues are the times of the channel, without acknowledgements and the times between
// frames.
func channelValues(t *cell.TerminalStatus, s *cell.Status) tcp.RadioValues {
	const ms = 1_000_000
	busy := s.AP.Radio.AirtimeNs
	for i := range s.Terminals {
		busy += s.Terminals[i].Up.AirtimeNs
	}
	v := tcp.NoRadioValues()
	v[tcp.RadioChannelMs] = s.TimeNs / ms
	v[tcp.RadioBusyMs] = busy / ms
	v[tcp.RadioChannelTxMs] = t.Up.AirtimeNs / ms
	v[tcp.RadioChannelRxMs] = t.Down.AirtimeNs / ms
	return v
}
