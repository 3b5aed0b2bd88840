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

// addressWatch watches the terminal's own: those of an interface, or without one those from which
// it reaches its peers. A flow keeps the address that it began with, and a session is known to
// others by that of its reports, so that with other addresses an agent begins anew.
type addressWatch struct {
	netlink *netlink.Handle // of the network namespace in which it was opened
	device  string
	peers   []netip.Addr
	known   addressSet    // where the agent is
	other   addressSet    // where it seems to be, one look ago
	lookAt  time.Duration // when it is looked next
}

// addressSet is an interface by its number, which another one of the same name does not have, with
// its addresses in order.
type addressSet struct {
	index int
	all   []netip.Addr
}

func (h addressSet) equal(o addressSet) bool { return h.index == o.index && slices.Equal(h.all, o.all) }

// lookForAddresses is how often it is looked. Addresses come and go together; what is so in two
// looks has settled.
const lookForAddresses = 250 * time.Millisecond

var errNoAddress = errors.New("has no address")

func openAddresses(c *Config) (*addressWatch, error) {
	a := &addressWatch{device: c.Interface, peers: c.Link.Addresses()}
	var err error
	if a.netlink, err = netlink.NewHandle(unix.NETLINK_ROUTE); err != nil {
		return nil, fmt.Errorf("looking for own addresses: %w", err)
	}
	return a, nil
}

// take notes what they are now. An interface without any is errNoAddress.
func (a *addressWatch) take() (err error) {
	a.known, err = a.look()
	a.other = addressSet{}
	return err
}

// look finds what they are. Without an interface there may be none: then there is no route to a
// peer now.
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
		for _, one := range all {
			if ip, ok := netip.AddrFromSlice(one.IP); ok {
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

// moved says whether they have become others, and stay so.
func (a *addressWatch) moved(now time.Duration) bool {
	if now < a.lookAt {
		return false
	}
	a.lookAt = now + lookForAddresses
	h, err := a.look()
	if err != nil && !gone(err) || len(h.all) == 0 && a.device == "" {
		return false // nothing is known just now
	}
	moved := !h.equal(a.known) && h.equal(a.other)
	a.other = h
	return moved
}

// gone says whether an interface is no more, or has no address.
func gone(err error) bool {
	var missing netlink.LinkNotFoundError
	return errors.Is(err, errNoAddress) || errors.As(err, &missing)
}

// await waits until there are some. tell is called with why it waits, again and again.
func (a *addressWatch) await(ctx context.Context, tell func(why string)) error {
	ticker := time.NewTicker(stepEvery)
	defer ticker.Stop()
	for {
		err := a.take()
		if err == nil || !gone(err) {
			return err
		}
		tell(err.Error())
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// prefixes pick the flows of the interface's addresses; without an interface they are none, which
// picks all.
func (a *addressWatch) prefixes() (all []netip.Prefix) {
	if a.device == "" {
		return nil
	}
	for _, one := range a.known.all {
		all = append(all, netip.PrefixFrom(one, one.BitLen()))
	}
	return all
}

func (a *addressWatch) close() { a.netlink.Close() }
