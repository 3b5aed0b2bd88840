package machine

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"airtide/internal/lab/plan"
)

// settings are the settings of a stack, without its congestion control.
type settings struct {
	Sysctls       []sysctl `json:"sysctls"` // in the order in which they are set
	InitialWindow int      `json:"initial_window,omitempty"`
}

type sysctl struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Optional permits a kernel without this sysctl.
	Optional bool `json:"optional,omitempty"`
}

func settingsOf(s plan.Stack) settings {
	to := settings{InitialWindow: s.InitialWindow}
	for _, b := range []struct {
		name  string
		value plan.Buffer
	}{{"net.ipv4.tcp_rmem", s.ReceiveBuffer}, {"net.ipv4.tcp_wmem", s.SendBuffer}} {
		if b.value != (plan.Buffer{}) {
			value := fmt.Sprintf("%d %d %d", b.value.Min, b.value.Default, b.value.Max)
			to.Sysctls = append(to.Sysctls, sysctl{Name: b.name, Value: value})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Sysctls)) {
		plain, optional := plan.OptionalSysctl(name)
		to.Sysctls = append(to.Sysctls, sysctl{plain, s.Sysctls[name], optional})
	}
	return to
}

// apply applies the settings to the namespace of the calling thread.
func (s settings) apply() (missing []string, err error) {
	for _, one := range s.Sysctls {
		err := setSysctl(one.Name, one.Value)
		if _, unknown := errors.AsType[*unknownSysctl](err); unknown && one.Optional {
			missing = append(missing, one.Name)
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	if s.InitialWindow > 0 {
		return missing, setInitialWindow(s.InitialWindow)
	}
	return missing, nil
}

// setInitialWindow sets initcwnd on every unicast route of the namespace's main table. A main table
// without a unicast route is an error.
func setInitialWindow(segments int) error {
	links, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("opening netlink: %w", err)
	}
	defer links.Close()
	routes, err := mainRoutes(links)
	if err != nil {
		return err
	}
	if len(routes) == 0 {
		return fmt.Errorf("no route for an initial window of %d segments: the machine has no address yet", segments)
	}
	for _, r := range routes {
		r.InitCwnd = segments
		if err := links.RouteReplace(&r); err != nil {
			return fmt.Errorf("setting initcwnd %d on the route to %s: %w", segments, r.Dst, err)
		}
	}
	routes, err = mainRoutes(links)
	if err != nil {
		return err
	}
	for _, r := range routes {
		if r.InitCwnd != segments {
			return fmt.Errorf("initcwnd of the route to %s was set to %d, but the kernel made it %d",
				r.Dst, segments, r.InitCwnd)
		}
	}
	return nil
}

// mainRoutes returns the routes that `ip route` and `ip -6 route` show, without link-local IPv6.
func mainRoutes(links *netlink.Handle) ([]netlink.Route, error) {
	var all []netlink.Route
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		wanted := &netlink.Route{Table: unix.RT_TABLE_MAIN, Type: unix.RTN_UNICAST}
		routes, err := links.RouteListFiltered(family, wanted, netlink.RT_FILTER_TABLE|netlink.RT_FILTER_TYPE)
		if err != nil {
			return nil, fmt.Errorf("listing routes: %w", err)
		}
		for _, r := range routes {
			if r.Dst == nil || !r.Dst.IP.IsLinkLocalUnicast() {
				all = append(all, r)
			}
		}
	}
	return all, nil
}
