// Package radio reads the PHY rate and the access point of this terminal from nl80211 or from a
// file, and computes the TCP goodput at that rate.
package radio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/vishvananda/netlink"

	"airtide/internal/kernel/nl80211"
	"airtide/internal/sys/clock"
)

// ErrNone means that there is no Wi-Fi: the kernel lacks nl80211, or the interface is not a station
// of an access point.
var ErrNone = errors.New("no Wi-Fi")

// Radio holds this terminal's PHY rate until Close.
type Radio struct {
	source source

	stop context.CancelFunc
	wait sync.WaitGroup

	mu   sync.Mutex
	last []PHY // the last few, the newest at the end
}

// source provides the present rate.
type source interface {
	now() (PHY, error)
	Close() error
}

// station is one Wi-Fi interface that is a station.
type station struct {
	*nl80211.Client
	device nl80211.Interface
	busy   busyTime
}

const (
	// askEvery is the interval of rate queries. The median of so many rates counts, because drivers
	// sometimes try other rates.
	askEvery = 500 * time.Millisecond
	median   = 3
)

// openStation opens the Wi-Fi interface with a name in this thread's network namespace. Errors wrap
// ErrNone if it is no Wi-Fi station.
func openStation(name string) (*station, error) {
	client, err := nl80211.Open()
	if errors.Is(err, nl80211.ErrMissing) {
		return nil, fmt.Errorf("%w: %w", ErrNone, err)
	}
	if err != nil {
		return nil, err
	}
	s, err := findStation(client, name)
	if err != nil {
		return nil, errors.Join(err, client.Close())
	}
	return s, nil
}

func findStation(client *nl80211.Client, name string) (*station, error) {
	all, err := client.Interfaces()
	if err != nil {
		return nil, err
	}
	for _, device := range all {
		if device.Name == name {
			if device.Role != nl80211.RoleStation && device.Role != nl80211.RoleP2PClient {
				return nil, fmt.Errorf("%w: interface %s is no station but %s", ErrNone, name, device.Role)
			}
			return &station{Client: client, device: device}, nil
		}
	}
	return nil, fmt.Errorf("%w: interface %s has none", ErrNone, name)
}

// Find returns the interface of the route to the first of some addresses, or without addresses that
// of the default route.
func Find(peers []netip.Addr) (string, error) {
	to := net.IPv4(192, 0, 2, 1) // documentation: has no route but the default one (RFC 5737)
	if len(peers) > 0 {
		to = peers[0].AsSlice()
	}
	routes, err := netlink.RouteGet(to)
	if err != nil {
		return "", fmt.Errorf("finding the interface by which %s is reached: %w", to, err)
	}
	link, err := netlink.LinkByIndex(routes[0].LinkIndex)
	if err != nil {
		return "", fmt.Errorf("finding the interface by which %s is reached: %w", to, err)
	}
	return link.Attrs().Name, nil
}

// Open opens the radio of an interface and reads its rate twice a second until Close. Without a
// name it uses the interface returned by Find.
func Open(name string, peers []netip.Addr) (*Radio, error) {
	if name == "" {
		var err error
		name, err = Find(peers)
		if err != nil {
			return nil, err
		}
	}
	s, err := openStation(name)
	if err != nil {
		return nil, err
	}
	return begin(s), nil
}

// begin asks a source twice a second until Close.
func begin(s source) *Radio {
	ctx, stop := context.WithCancel(context.Background())
	r := &Radio{source: s, stop: stop}
	r.wait.Go(func() { r.run(ctx) })
	return r
}

func (r *Radio) run(ctx context.Context) {
	ticker := time.NewTicker(askEvery)
	defer ticker.Stop()
	for {
		r.ask()
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// ask reads the present rate. Without a rate, as between two access points, the state is unknown.
func (r *Radio) ask() {
	phy, err := r.source.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.last = r.last[:0]
		return
	}
	if n := len(r.last); n > 0 && r.last[n-1].BSSID != phy.BSSID {
		r.last = r.last[:0] // rates to another access point say nothing of this one
	}
	r.last = append(r.last, phy)
	if len(r.last) > median {
		r.last = slices.Delete(r.last, 0, 1)
	}
}

// now is how the station sends to its access point now; its driver may not tell the rate. An error
// wraps ErrNone when it has no access point.
func (s *station) now() (PHY, error) {
	stations, err := s.Stations(s.device.Index)
	if err == nil && len(stations) == 0 {
		return PHY{}, fmt.Errorf("%w: interface %s is not connected", ErrNone, s.device.Name)
	}
	if err != nil {
		return PHY{}, fmt.Errorf("reading the PHY rate of %s: %w", s.device.Name, err)
	}
	phy := of(&stations[0])
	s.updateDevice()
	phy.MHz = s.device.FrequencyMHz
	phy.Busy = s.busy.ask(time.Duration(clock.Now()), func() (nl80211.Survey, bool, error) {
		return s.Channel(&s.device)
	})
	return phy, nil
}

// updateDevice reads the present frequency of the interface. The station may have changed the band.
func (s *station) updateDevice() {
	s.device.FrequencyMHz = 0
	all, err := s.Interfaces()
	if err != nil {
		return
	}
	for _, device := range all {
		if device.Index == s.device.Index {
			s.device = device
			return
		}
	}
}

// of returns the rate towards the station's access point. With 802.11be the address may be that of
// several links at once, which stations of earlier generations do not know; then it is left out.
func of(s *nl80211.Station) PHY {
	p := PHY{Bps: float64(s.TxRate.Bps), Generation: s.TxRate.Generation, Streams: max(1, s.TxRate.Streams)}
	if p.Generation != EHT && len(s.Address) == len(p.BSSID) {
		p.BSSID = BSSID(s.Address)
	}
	return p
}

// State is the state of a station. Zero values are unknown.
type State struct {
	// PHYBps is the median of the last three PHY rates. StandaloneBps is the TCP goodput of a lone
	// station at this rate. Both are in bit/s.
	PHYBps, StandaloneBps float64
	// SingleFrames means that the radio does not aggregate frames.
	SingleFrames bool
	// Place is the newest.
	Place
}

// State returns the present state.
func (r *Radio) State() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return middle(r.last)
}

func middle(last []PHY) State {
	if len(last) == 0 {
		return State{}
	}
	sorted := slices.Clone(last)
	slices.SortFunc(sorted, func(a, b PHY) int { return cmp.Compare(Goodput(a), Goodput(b)) })
	p := sorted[len(sorted)/2]
	return State{
		PHYBps: p.Bps, StandaloneBps: Goodput(p), SingleFrames: p.Bps > 0 && p.Generation == Legacy,
		Place: last[len(last)-1].Place,
	}
}

// Close ends the queries.
func (r *Radio) Close() error {
	r.stop()
	r.wait.Wait()
	return r.source.Close()
}
