package share

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// addressWatch watches the addresses of an interface. Without an interface, it watches the local
// addresses of the routes to the peers. Flows and sessions are bound to addresses, so an agent
// starts a new session when they change.
type addressWatch struct {
	netlink *netlink.Handle // opened in the agent's network namespace
	device  string
	peers   []netip.Addr
	known   addressSet    // addresses of the session
	other   addressSet    // addresses at the last check
	lookAt  time.Duration // time of the next check
}

// addressSet holds the sorted addresses and the index of an interface. Another interface with the
// same name has another index.
type addressSet struct {
	index int
	all   []netip.Addr
}

func (h addressSet) equal(o addressSet) bool { return h.index == o.index && slices.Equal(h.all, o.all) }

// lookForAddresses is the interval of checks. A change counts if two checks agree, because several
// addresses change one after another.
const lookForAddresses = 250 * time.Millisecond

var errNoAddress = errors.New("has no address")

func openAddresses(c *Config) (*addressWatch, error) {
	a := &addressWatch{device: c.Interface, peers: c.Link.Addresses()}
	var err error
	a.netlink, err = netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return nil, fmt.Errorf("looking for own addresses: %w", err)
	}
	return a, nil
}

// take stores the present addresses. The error wraps errNoAddress if the interface has none.
func (a *addressWatch) take() (err error) {
	a.known, err = a.look()
	a.other = addressSet{}
	return err
}

// look returns the present addresses. Without an interface and without a route to a peer, there are
// none.
func (a *addressWatch) look() (h addressSet, err error) {
	if a.device == "" {
		for _, to := range a.peers {
			if routes, err := a.netlink.RouteGet(to.AsSlice()); err == nil {
				if from, ok := netip.AddrFromSlice(routes[0].Src); ok {
					h.all = append(h.all, from.Unmap())
				}
			}
		}
	} else {
		device, err := a.netlink.LinkByName(a.device)
		if err != nil {
			return h, fmt.Errorf("interface %s: %w", a.device, err)
		}
		h.index = device.Attrs().Index
		all, err := a.netlink.AddrList(device, netlink.FAMILY_ALL)
		if err != nil {
			return h, fmt.Errorf("addresses of %s: %w", a.device, err)
		}
		for _, address := range all {
			if ip, ok := netip.AddrFromSlice(address.IP); ok {
				h.all = append(h.all, ip.Unmap())
			}
		}
		if len(h.all) == 0 {
			return h, fmt.Errorf("interface %s %w", a.device, errNoAddress)
		}
	}
	slices.SortFunc(h.all, netip.Addr.Compare)
	h.all = slices.Compact(h.all)
	return h, nil
}

// moved reports whether the addresses have changed for two checks.
func (a *addressWatch) moved(now time.Duration) bool {
	if now < a.lookAt {
		return false
	}
	a.lookAt = now + lookForAddresses
	h, err := a.look()
	if err != nil && !gone(err) || len(h.all) == 0 && a.device == "" {
		return false // the addresses are unknown now
	}
	moved := !h.equal(a.known) && h.equal(a.other)
	a.other = h
	return moved
}

// gone reports whether an interface was removed or has no address.
func gone(err error) bool {
	var missing netlink.LinkNotFoundError
	return errors.Is(err, errNoAddress) || errors.As(err, &missing)
}

// await waits for addresses. It calls report with the reason at each check.
func (a *addressWatch) await(ctx context.Context, report func(reason string)) error {
	ticker := time.NewTicker(stepEvery)
	defer ticker.Stop()
	for {
		err := a.take()
		if err == nil || !gone(err) {
			return err
		}
		report(err.Error())
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// prefixes returns the addresses of the interface to select flows. Without an interface it returns
// none, which selects all flows.
func (a *addressWatch) prefixes() (all []netip.Prefix) {
	if a.device == "" {
		return nil
	}
	for _, address := range a.known.all {
		all = append(all, netip.PrefixFrom(address, address.BitLen()))
	}
	return all
}

func (a *addressWatch) close() { a.netlink.Close() }
