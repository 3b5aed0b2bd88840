package measure

import (
	"net/netip"
	"slices"

	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
	"airtide/internal/tcp"
)

// Sender identifies a flow's sending connections in a recording.
type Sender struct {
	Flow string
	// Addresses of the machines that send data.
	Addresses []netip.Addr
	// Port at either end.
	Port uint16
	// Connections is the number of connections that carry data on each sending machine. The
	// connections with the most acknowledged bytes count, which excludes iperf3's control
	// connection. Zero means all connections.
	Connections int
}

// Sends reports whether a connection belongs to the sender.
func (s Sender) Sends(f *tcp.Flow) bool {
	return slices.Contains(s.Addresses, f.Local.Addr().Unmap()) &&
		(f.Local.Port() == s.Port || f.Remote.Port() == s.Port)
}

// Senders returns the sending ends of a run's flows at the named machines, or at all machines if
// none is named. A flow of a machine with an unknown address has no sender.
func Senders(s *plan.Setup, r *result.Result, machines ...string) []Sender {
	addresses := map[string]netip.Addr{}
	for _, m := range r.Machines {
		if len(machines) > 0 && !slices.Contains(machines, m.Name) {
			continue
		}
		if a, err := netip.ParseAddr(m.Address); err == nil {
			addresses[m.Name] = a
		}
	}
	ports := map[string]uint16{}
	for _, f := range r.Flows {
		ports[f.Name] = f.Port
	}
	var all []Sender
	for _, f := range s.Flows {
		one := Sender{Flow: f.Name, Port: ports[f.Name]}
		sends := []string{f.From}
		switch {
		case f.Flow.Direction == plan.Both:
			sends = []string{f.From, f.To}
		case f.Flow.SendsBack():
			sends = []string{f.To}
		}
		for _, name := range sends {
			if a, ok := addresses[name]; ok {
				one.Addresses = append(one.Addresses, a)
			}
		}
		if f.Flow.Protocol == plan.TCP {
			one.Connections = f.Flow.Parallel // the others are iperf3's control connections
		}
		all = append(all, one)
	}
	return all
}
