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

// Apply gives a namespace the stack of a plan. Connections that are open keep what they have, but for the buffers'
// bounds. Each value is read back; one that the kernel does not take is an error that names it. Lacking are the optional
// sysctls (plan.OptionalSysctl) that there are none of.
func Apply(namespace string, s plan.Stack) (lacking []string, err error) {
	fail := func(err error) ([]string, error) {
		return nil, fmt.Errorf("setting up the stack of %s: %w", namespace, explain(err))
	}
	if s.Congestion != "" {
		if err := setCongestion(namespace, s.Congestion); err != nil {
			return fail(err)
		}
	}
	err = In(namespace, func() (err error) {
		lacking, err = settingsOf(s).apply()
		return err
	})
	if err != nil {
		return fail(err)
	}
	return lacking, nil
}

// settings are a stack's, but for its congestion control.
type settings struct {
	Sysctls       []sysctl `json:"sysctls"` // in the order in which they are set
	InitialWindow int      `json:"initial_window,omitempty"`
}

type sysctl struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	// Optional: a kernel without it is let be.
	Optional bool `json:"optional,omitempty"`
}

func settingsOf(s plan.Stack) settings {
	to := settings{InitialWindow: s.InitialWindow}
	for _, b := range []struct {
		name  string
		value plan.Buffer
	}{{"net.ipv4.tcp_rmem", s.ReceiveBuffer}, {"net.ipv4.tcp_wmem", s.SendBuffer}} {
		if b.value != (plan.Buffer{}) {
			to.Sysctls = append(to.Sysctls, sysctl{Name: b.name, Value: fmt.Sprintf("%d %d %d", b.value.Min, b.value.Default, b.value.Max)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Sysctls)) {
		plain, optional := plan.OptionalSysctl(name)
		to.Sysctls = append(to.Sysctls, sysctl{plain, s.Sysctls[name], optional})
	}
	return to
}

// apply gives the settings to the namespace of the calling thread.
func (s settings) apply() (lacking []string, err error) {
	for _, one := range s.Sysctls {
		err := setSysctl(one.Name, one.Value)
		if _, unknown := errors.AsType[*unknownSysctl](err); unknown && one.Optional {
			lacking = append(lacking, one.Name)
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	if s.InitialWindow > 0 {
		return lacking, setInitialWindow(s.InitialWindow)
	}
	return lacking, nil
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
