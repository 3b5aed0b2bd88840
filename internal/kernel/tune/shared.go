package tune

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"airtide/internal/kernel/sockets/owner"
)

func goneText(netns uint32) string { return fmt.Sprintf("network namespace %d is gone", netns) }

func routeKey(netns uint32, to string) string { return fmt.Sprintf("%d %s", netns, to) }

// readRest reads back the settings that affect more than one socket: routes and sysctls.
func (r *Report) readRest(s *session, failed map[string]string) error {
	for _, one := range s.Routes {
		to, err := netip.ParseAddr(one.To)
		if err != nil {
			return fmt.Errorf("reading tune %s: %w", s.ID, err)
		}
		out := Route{NetNS: one.NetNS, To: one.To, MinRTOUs: uint32(one.MinRTOMs) * 1000}
		err = inLivingNetNS(one.NetNS, func() error {
			now, err := routeTo(to)
			out.OK = err == nil && now.RtoMin == one.MinRTOMs
			return err
		})
		switch {
		case errors.Is(err, owner.ErrNetNSGone):
			out.Gone = true
			out.Error = goneText(one.NetNS)
		case err != nil:
			out.Error = err.Error()
		case !out.OK:
			out.Error = "another route leads there now, or another tune has set it"
		}
		if why := failed[routeKey(one.NetNS, one.To)]; why != "" {
			out.Error = why
		}
		r.Routes = append(r.Routes, out)
	}
	// Routes and sysctls that could not be set at all.
	for key, why := range failed {
		var netns uint32
		var to string
		if _, err := fmt.Sscanf(key, "%d %s", &netns, &to); err != nil {
			return fmt.Errorf("reading tune %s: %w", s.ID, err)
		}
		if !slices.ContainsFunc(r.Routes, func(o Route) bool { return o.NetNS == netns && o.To == to }) {
			r.Routes = append(r.Routes, Route{NetNS: netns, To: to, MinRTOUs: s.Settings.MinRTOUs, Error: why})
		}
	}
	for _, c := range s.Sysctls {
		out := Sysctl{NetNS: c.NetNS, Name: c.Name, Before: c.Old, Want: c.New}
		err := inLivingNetNS(c.NetNS, func() (err error) {
			out.Now, err = readSysctl(c.Name)
			return err
		})
		out.Gone = errors.Is(err, owner.ErrNetNSGone)
		if err != nil && !out.Gone {
			return fmt.Errorf("reading %s in network namespace %d: %w", c.Name, c.NetNS, err)
		}
		out.OK = out.Now == out.Want
		r.Sysctls = append(r.Sysctls, out)
	}
	return nil
}
