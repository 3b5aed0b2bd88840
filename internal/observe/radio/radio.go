// Package radio observes the Wi-Fi radios of this host beside TCP, by nl80211: the links to their
// stations, their channels, scans and changes of the access point.
package radio

import (
	"context"
	"errors"
	"fmt"
	"net"
	"reflect"
	"sync"
	"time"

	"airtide/internal/kernel/nl80211"
	"airtide/internal/kernel/sockets/owner"
	"airtide/internal/sys/clock"
	"airtide/internal/tcp"
)

const (
	// askEvery is the time between two looks at the stations.
	askEvery = 100 * time.Millisecond
	// surveyEvery is the time between two looks at the channels and the interfaces. Some drivers
	// ask their firmware for a channel's times, which holds up other requests.
	surveyEvery = time.Second
)

// Source observes the radios of the network namespace in which it was opened.
type Source struct {
	client    *nl80211.Client
	events    *nl80211.Events
	addresses *addresses
	netns     uint32 // the interfaces' namespace
	all       []nl80211.Interface
	told      map[int]tcp.Radio // the last record of each interface
	surveyed  time.Time
}

// Open connects to nl80211. Errors wrap nl80211.ErrMissing if the kernel has none.
func Open() (*Source, error) {
	client, err := nl80211.Open()
	if err != nil {
		return nil, err
	}
	s := &Source{client: client, told: map[int]tcp.Radio{}}
	s.netns, err = owner.SelfNetNS()
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.events, err = nl80211.OpenEvents()
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.addresses, err = openAddresses()
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Close closes the connections. It must not run beside Run.
func (s *Source) Close() error {
	err := s.client.Close()
	if s.events != nil {
		err = errors.Join(err, s.events.Close())
	}
	if s.addresses != nil {
		err = errors.Join(err, s.addresses.conn.Close())
	}
	return err
}

// Run delivers records until the context ends, or until deliver fails. It can run once. An
// interface that comes is observed within a second. One that cannot be asked has no records.
func (s *Source) Run(ctx context.Context, give func(*tcp.Radio) error) error {
	deliver := func(r *tcp.Radio) error {
		r.NetNS = s.netns
		return give(r)
	}
	events := make(chan nl80211.Event)
	done := make(chan struct{})
	var receiver sync.WaitGroup
	receiver.Go(func() {
		for {
			e, err := s.events.Next()
			if err != nil {
				return
			}
			select {
			case events <- e:
			case <-done:
				return
			}
		}
	})
	defer func() {
		close(done)
		_ = s.events.Interrupt() // fails only if it is closed
		receiver.Wait()
	}()
	ticker := time.NewTicker(askEvery)
	defer ticker.Stop()
	for {
		if err := s.ask(deliver); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case e := <-events:
			if err := s.event(&e, deliver); err != nil {
				return err
			}
		case <-ticker.C:
		}
	}
}

// ask delivers the present state.
func (s *Source) ask(deliver func(*tcp.Radio) error) error {
	survey := time.Since(s.surveyed) >= surveyEvery
	if survey {
		s.surveyed = time.Now()
		if err := s.findInterfaces(deliver); err != nil {
			return err
		}
	}
	for i := range s.all {
		if err := s.askInterface(&s.all[i], survey, deliver); err != nil {
			return err
		}
	}
	return nil
}

func (s *Source) askInterface(i *nl80211.Interface, survey bool, deliver func(*tcp.Radio) error) error {
	stations, err := s.client.Stations(i.Index)
	if err != nil {
		return nil // it went away, or its driver tells nothing
	}
	now := clock.Now()
	for _, station := range stations {
		for _, r := range recordsOf(i, &station, now) {
			if err := deliver(&r); err != nil {
				return err
			}
		}
	}
	if !survey {
		return nil
	}
	channel, known, err := s.client.Channel(i)
	if err != nil || !known {
		return nil
	}
	return deliver(&tcp.Radio{TimeNs: clock.Now(), Kind: tcp.RadioChannel, Interface: i.Name, Values: channel.Values})
}

// recordsOf are the records of a link: its own, and one of each traffic identifier.
func recordsOf(i *nl80211.Interface, station *nl80211.Station, now int64) []tcp.Radio {
	r := tcp.Radio{
		TimeNs: now, Kind: tcp.RadioStation, Interface: i.Name, Station: addressText(station.Address),
		Values: station.Values,
	}
	all := []tcp.Radio{r}
	for _, values := range station.TIDs {
		r.Kind = tcp.RadioTID
		r.Values = values
		all = append(all, r)
	}
	return all
}

func addressText(a net.HardwareAddr) string {
	if len(a) == 0 {
		return ""
	}
	return a.String()
}

// findInterfaces lists the interfaces anew, and delivers those that changed.
func (s *Source) findInterfaces(deliver func(*tcp.Radio) error) error {
	all, err := s.client.Interfaces()
	if err != nil {
		return fmt.Errorf("observing the radio: %w", err)
	}
	s.all = all
	byInterface, err := s.addresses.list()
	if err != nil {
		return fmt.Errorf("observing the radio: %w", err)
	}
	for _, i := range all {
		r := tcp.Radio{
			Kind: tcp.RadioInterface, Interface: i.Name, SSID: i.SSID, Addresses: byInterface[i.Index],
			Values: tcp.NoRadioValues(),
		}
		if i.FrequencyMHz > 0 {
			r.Values[tcp.RadioFrequencyMHz] = int64(i.FrequencyMHz)
		}
		if last, known := s.told[i.Index]; known && reflect.DeepEqual(last, r) {
			continue
		}
		s.told[i.Index] = r
		r.TimeNs = clock.Now()
		if err := deliver(&r); err != nil {
			return err
		}
	}
	return nil
}

// event delivers an event. After a change of the access point, the interfaces are asked first, so
// that the event has the network's name.
func (s *Source) event(e *nl80211.Event, deliver func(*tcp.Radio) error) error {
	now := clock.Now()
	if e.Kind != tcp.RadioScanStart && e.Kind != tcp.RadioScanEnd {
		if err := s.findInterfaces(deliver); err != nil {
			return err
		}
	}
	for _, i := range s.all {
		if i.Index != e.Index {
			continue
		}
		r := tcp.Radio{
			TimeNs: now, Kind: e.Kind, Interface: i.Name, Station: addressText(e.Station), Values: tcp.NoRadioValues(),
		}
		if e.Kind == tcp.RadioConnect || e.Kind == tcp.RadioRoam {
			r.SSID = i.SSID
		}
		if e.MHz > 0 {
			r.Values[tcp.RadioFrequencyMHz] = int64(e.MHz)
		}
		return deliver(&r)
	}
	return nil
}
