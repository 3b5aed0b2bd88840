package tune

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"airtide/internal/kernel/sockets/owner"
	"airtide/internal/sys/file"
)

// A minimum RTO above the limit of the socket option needs a route's rto_min, which overrides all
// other settings and affects existing connections, or the sysctl tcp_rto_min_us for new sockets
// (Linux 6.11). Both affect more than one socket.

// route is a route to one peer that has a minimum RTO of ours.
type route struct {
	NetNS    uint32 `json:"netns"`
	To       string `json:"to"`
	MinRTOMs int    `json:"min_rto_ms"`
	// OldMs is the minimum RTO of an earlier tune's route, or 0.
	OldMs int `json:"old_ms,omitempty"`
}

// routeProtocol marks our routes (proto 197 in ip route).
const routeProtocol = netlink.RouteProtocol(197)

// errRouteWithout means that the route of a peer cannot carry a minimum RTO.
var errRouteWithout = errors.New("this route takes no minimum RTO")

// inNetNS calls f in the namespace with this inode. An ended namespace is no error.
func inNetNS(inode uint32, f func() error) error {
	err := inLivingNetNS(inode, f)
	if errors.Is(err, owner.ErrNetNSGone) {
		return nil
	}
	return err
}

// inLivingNetNS calls f in the namespace with this inode. An ended namespace gives
// owner.ErrNetNSGone.
func inLivingNetNS(inode uint32, f func() error) error {
	list, err := namespaces([]uint32{inode})
	if err != nil {
		return err
	}
	return owner.InNetNS(list[0], f)
}

func hostPrefix(a netip.Addr) *net.IPNet {
	return &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(a.BitLen(), a.BitLen())}
}

// setRoute adds a host route to the peer with the minimum RTO and the attributes of the present
// route. First it calls remember with the minimum RTO of an earlier tune's route. It works in the
// namespace of the calling thread.
func setRoute(to netip.Addr, ms int, remember func(oldMs int) error) error {
	fail := func(why error) error { return fmt.Errorf("route to %s: %w", to, why) }
	now, err := routeTo(to)
	if err != nil {
		return fail(err)
	}
	switch {
	case now.Type != unix.RTN_UNICAST:
		return fail(fmt.Errorf("%w: it leads to this machine itself", errRouteWithout))
	case len(now.MultiPath) > 0:
		return fail(fmt.Errorf("%w: it has several ways", errRouteWithout))
	}
	own, err := hostRoute(to)
	if err != nil {
		return fail(err)
	}
	next := netlink.Route{
		Dst: hostPrefix(to), LinkIndex: now.LinkIndex, Gw: now.Gw, Src: now.Src, MTU: now.MTU, MTULock: now.MTULock,
		RtoMin: ms, RtoMinLock: true, Protocol: routeProtocol, Table: unix.RT_TABLE_MAIN,
	}
	if now.Gw == nil {
		next.Scope = netlink.SCOPE_LINK
	}
	set := netlink.RouteAdd
	oldMs := 0
	if own != nil {
		set = netlink.RouteReplace
		oldMs = own.RtoMin
	}
	if own != nil && own.Protocol != routeProtocol {
		return fail(
			fmt.Errorf(
				"%w that airtide could take back: it is this peer's own; do it by hand: ip route change %s ... "+
					"rto_min %dms",
				errRouteWithout, to, ms,
			),
		)
	}
	if err := remember(oldMs); err != nil {
		return fail(err)
	}
	if err := set(&next); err != nil {
		return fail(err)
	}
	now, err = routeTo(to)
	if err != nil || now.RtoMin != ms {
		return fail(errors.Join(fmt.Errorf("%w: another goes before it", errRouteWithout), err, removeRoute(to)))
	}
	return nil
}

// routeTo is the route that leads to an address.
func routeTo(to netip.Addr) (*netlink.Route, error) {
	found, err := netlink.RouteGet(to.AsSlice())
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, errors.New("there is none")
	}
	return &found[0], nil
}

// hostRoute returns the host route of an address in the main table, or nil.
func hostRoute(to netip.Addr) (*netlink.Route, error) {
	family := netlink.FAMILY_V4
	if to.Is6() {
		family = netlink.FAMILY_V6
	}
	found, err := netlink.RouteListFiltered(family, &netlink.Route{Dst: hostPrefix(to), Table: unix.RT_TABLE_MAIN},
		netlink.RT_FILTER_DST|netlink.RT_FILTER_TABLE)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

func removeRoute(to netip.Addr) error {
	own, err := hostRoute(to)
	if err != nil || own == nil || own.Protocol != routeProtocol {
		return err
	}
	return netlink.RouteDel(own)
}

// undoRoute removes a route. If a later tune has set the same route, that tune inherits the
// previous value.
func undoRoute(r route, later []*session) (changed *session, err error) {
	for _, s := range later {
		for i := range s.Routes {
			if s.Routes[i].NetNS == r.NetNS && s.Routes[i].To == r.To {
				s.Routes[i].OldMs = r.OldMs
				return s, nil
			}
		}
	}
	to, err := netip.ParseAddr(r.To)
	if err != nil {
		return nil, err
	}
	err = inNetNS(r.NetNS, func() error {
		own, err := hostRoute(to)
		if err != nil || own == nil || own.Protocol != routeProtocol || own.RtoMin != r.MinRTOMs {
			return err
		}
		if r.OldMs == 0 {
			return netlink.RouteDel(own)
		}
		own.RtoMin = r.OldMs
		own.RtoMinLock = true
		return netlink.RouteReplace(own)
	})
	if err != nil {
		return nil, fmt.Errorf("taking back the route to %s: %w", r.To, err)
	}
	return nil, nil
}

// sysctl is a parameter of a namespace that a tune has set.
type sysctl struct {
	NetNS uint32 `json:"netns"`
	Name  string `json:"name"`
	Old   string `json:"old"`
	New   string `json:"new"`
}

const rtoMinSysctl = "net.ipv4.tcp_rto_min_us"

func sysctlPath(name string) string { return "/proc/sys/" + strings.ReplaceAll(name, ".", "/") }

func readSysctl(name string) (string, error) {
	text, err := os.ReadFile(sysctlPath(name))
	return strings.TrimSpace(string(text)), err
}

// setRTOMinSysctl sets the minimum RTO of new sockets in a namespace. First it calls remember with
// the previous value.
func setRTOMinSysctl(netns uint32, us uint32, remember func(sysctl) error) error {
	s := sysctl{NetNS: netns, Name: rtoMinSysctl, New: strconv.FormatUint(uint64(us), 10)}
	err := inNetNS(netns, func() (err error) {
		s.Old, err = readSysctl(s.Name)
		if err != nil {
			return err
		}
		if err := remember(s); err != nil {
			return err
		}
		return file.Set(sysctlPath(s.Name), s.New)
	})
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%w: a minimum RTO above %s for new sockets needs Linux 6.11 (%s)", ErrNotSupported,
			microseconds(MaxOptionRTOUs), rtoMinSysctl)
	}
	if err != nil {
		return fmt.Errorf("setting %s in network namespace %d: %w", s.Name, netns, err)
	}
	return nil
}

func undoSysctl(c sysctl, later []*session) (changed *session, err error) {
	for _, s := range later {
		for i := range s.Sysctls {
			if s.Sysctls[i].NetNS == c.NetNS && s.Sysctls[i].Name == c.Name {
				s.Sysctls[i].Old = c.Old
				return s, nil
			}
		}
	}
	err = inNetNS(c.NetNS, func() error {
		now, err := readSysctl(c.Name)
		if err != nil || now != c.New {
			return err
		}
		return file.Set(sysctlPath(c.Name), c.Old)
	})
	if err != nil {
		return nil, fmt.Errorf("taking back %s in network namespace %d: %w", c.Name, c.NetNS, err)
	}
	return nil, nil
}
