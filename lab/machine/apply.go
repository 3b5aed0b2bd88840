package machine

import (
	"fmt"
	"maps"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"airtide/lab/plan"
)

// Apply gives a namespace the stack of a plan. Connections that are open keep what they have, but for the buffers'
// bounds. Each value is read back; one that the kernel does not take is an error that names it.
func Apply(namespace string, s plan.Stack) error {
	fail := func(err error) error { return fmt.Errorf("setting up the stack of %s: %w", namespace, explain(err)) }
	if s.Congestion != "" {
		if err := setCongestion(namespace, s.Congestion); err != nil {
			return fail(err)
		}
	}
	if err := In(namespace, settingsOf(s).apply); err != nil {
		return fail(err)
	}
	return nil
}

// settings are a stack's, but for its congestion control.
type settings struct {
	Sysctls       []sysctl `json:"sysctls"` // in the order in which they are set
	InitialWindow int      `json:"initial_window,omitempty"`
}

type sysctl struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func settingsOf(s plan.Stack) settings {
	to := settings{InitialWindow: s.InitialWindow}
	for _, b := range []struct {
		name  string
		value plan.Buffer
	}{{"net.ipv4.tcp_rmem", s.ReceiveBuffer}, {"net.ipv4.tcp_wmem", s.SendBuffer}} {
		if b.value != (plan.Buffer{}) {
			to.Sysctls = append(to.Sysctls, sysctl{b.name, fmt.Sprintf("%d %d %d", b.value.Min, b.value.Default, b.value.Max)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Sysctls)) {
		to.Sysctls = append(to.Sysctls, sysctl{name, s.Sysctls[name]})
	}
	return to
}

// apply gives the settings to the namespace of the calling thread.
func (s settings) apply() error {
	for _, one := range s.Sysctls {
		if err := setSysctl(one.Name, one.Value); err != nil {
			return err
		}
	}
	if s.InitialWindow > 0 {
		return setInitialWindow(s.InitialWindow)
	}
	return nil
}

// setInitialWindow sets initcwnd on every unicast route of the namespace's main table, of which there must be one.
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
		return fmt.Errorf("there is no route that could have an initial window of %d segments: the machine has no address yet", segments)
	}
	for _, r := range routes {
		r.InitCwnd = segments
		if err := links.RouteReplace(&r); err != nil {
			return fmt.Errorf("setting initcwnd %d on the route to %s: %w", segments, r.Dst, err)
		}
	}
	if routes, err = mainRoutes(links); err != nil {
		return err
	}
	for _, r := range routes {
		if r.InitCwnd != segments {
			return fmt.Errorf("initcwnd of the route to %s was set to %d, but the kernel made it %d", r.Dst, segments, r.InitCwnd)
		}
	}
	return nil
}

// mainRoutes are those to other machines: what `ip route` and `ip -6 route` show, but for what begins on this machine by
// itself (link-local IPv6).
func mainRoutes(links *netlink.Handle) ([]netlink.Route, error) {
	var all []netlink.Route
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		routes, err := links.RouteListFiltered(family, &netlink.Route{Table: unix.RT_TABLE_MAIN, Type: unix.RTN_UNICAST},
			netlink.RT_FILTER_TABLE|netlink.RT_FILTER_TYPE)
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
