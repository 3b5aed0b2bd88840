package share

import (
	"fmt"
	"net/netip"

	"github.com/spf13/pflag"

	"airtide/internal/observe/source"
	"airtide/internal/share/allocate"
	"airtide/internal/share/control"
	"airtide/internal/share/link"
	"airtide/internal/units"
)

// Flags are the flags of `airtide share run`. DefaultFlags has the default values.
type Flags struct {
	Key, Interface string
	Peers          []string // addresses, with or without a port
	Port           uint16
	Policy         string
	MaxRate        units.Rate // 0: from the radio, or unknown
	Capacity       units.Rate
	Weight         float64
	Alpha          string
	Index          float64
	MulticastRate  units.Rate // 0: the lowest rate of the band
	PHYFile        string
	SingleFrames   bool
	Source         string
	Record         string
	Disable        string // rules of package control, for measurements
	Metrics, OTLP  string
	JSON           bool
}

// DefaultFlags are the values of flags that are not given.
func DefaultFlags() Flags {
	return Flags{
		Port: link.Port, Policy: string(control.Shares), Weight: 1, Index: control.DefaultIndex,
		Source: string(source.Auto),
	}
}

// Register adds the flags to a set. The present values are the defaults.
func (f *Flags) Register(fl *pflag.FlagSet) {
	fl.StringVar(&f.Key, "key", f.Key, "file with the cell's key (required)")
	fl.StringVar(&f.Interface, "interface", f.Interface,
		"interface to the access point: flows of its addresses, multicast on it")
	fl.StringSliceVar(&f.Peers, "peer", f.Peers,
		"address or address:port of a hub, or of a terminal to reach by unicast (repeatable)")
	fl.Uint16Var(&f.Port, "port", f.Port, "UDP port of the terminals")
	fl.StringVar(&f.Policy, "policy", f.Policy,
		"shares, equal-cap or equal-range (our reconstructions of the middleware of Matsuno et al. 2021), "+
			"or observe")
	fl.Var(units.RateFlag(&f.MaxRate), "max-rate", "rate that this terminal reaches alone, such as 400Mbit")
	fl.Var(units.RateFlag(&f.Capacity), "capacity", "rate that equal-cap and equal-range divide, such as 1Gbit")
	fl.Var(units.NumberFlag(&f.Weight), "weight", "weight of this terminal, 0.1 to 10")
	fl.Var(units.NumberFlag(&f.Index), "index",
		"fairness that the greatest total must keep, 0.5 to 1, the same on all terminals: Jain's index of rates "+
			"as parts of standalone rates; 1 is equal airtime")
	fl.StringVar(&f.Alpha, "alpha", f.Alpha, "fairness as a parameter instead of --index, the same on all terminals: "+
		"0 maximises the total, 1 is proportional fairness, inf is max-min fairness")
	fl.Var(units.RateFlag(&f.MulticastRate), "multicast-rate",
		"rate at which the access point sends multicast (default 6Mbit above 2.4 GHz, otherwise 1Mbit)")
	fl.StringVar(&f.PHYFile, "phy-file", f.PHYFile, "file with the current PHY rate, if nl80211 does not report it; "+
		"see above")
	fl.BoolVar(&f.SingleFrames, "single-frames", f.SingleFrames,
		"the radio does not aggregate frames (802.11a, b, g); on Wi-Fi, nl80211 reports it")
	fl.StringVar(&f.Source, "source", f.Source, "source of samples: auto, bpf or diag")
	fl.StringVar(&f.Record, "record", f.Record,
		"record the inputs and outputs of each step to this file, as gzipped JSON lines")
	fl.StringVar(&f.Metrics, "metrics", f.Metrics,
		"serve Prometheus metrics at http://ADDRESS/metrics; ADDRESS such as localhost:9478")
	fl.StringVar(&f.OTLP, "otlp", f.OTLP,
		"send metrics to the OpenTelemetry collector at this URL, such as http://collector:4318")
	fl.StringVar(&f.Disable, "disable", f.Disable, "rules of the control to switch off, for measurements")
	fl.Lookup("disable").Hidden = true
	fl.BoolVar(&f.JSON, "json", f.JSON, "print the state as a line of JSON each second")
}

// Args are the arguments that set these flags. Flags with default values are left out.
func (f Flags) Args() (args []string) {
	var given, standard pflag.FlagSet
	f.Register(&given)
	defaults := DefaultFlags()
	defaults.Register(&standard)
	given.VisitAll(func(flag *pflag.Flag) {
		if flag.DefValue == standard.Lookup(flag.Name).DefValue {
			return
		}
		values := []string{flag.DefValue}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			args = append(args, "--"+flag.Name+"="+v)
		}
	})
	return args
}

// Config is the agent's configuration, without the key. An error names the wrong flag.
func (f *Flags) Config() (c Config, err error) {
	c = Config{
		Interface: f.Interface, Weight: f.Weight, SingleFrames: f.SingleFrames,
		MaxBps: float64(f.MaxRate), CapacityBps: float64(f.Capacity), MulticastBps: float64(f.MulticastRate),
		Link: link.Config{Interface: f.Interface, Port: f.Port},
	}
	c.Policy, err = control.ParsePolicy(f.Policy)
	if err != nil {
		return c, err
	}
	c.Source, err = source.ParseKind(f.Source)
	if err != nil {
		return c, err
	}
	if f.Alpha != "" {
		alpha, err := allocate.ParseAlpha(f.Alpha)
		if err != nil {
			return c, fmt.Errorf("--alpha %w", err)
		}
		c.Control.Alpha = &alpha
	}
	if !(f.Index >= control.LeastIndex && f.Index <= 1) {
		return c, fmt.Errorf("--index %g: want %g to 1", f.Index, control.LeastIndex)
	}
	c.Control.Index = f.Index
	c.Control.Disable, err = control.ParseRules(f.Disable)
	if err != nil {
		return c, fmt.Errorf("--disable %w", err)
	}
	for _, p := range f.Peers {
		peer, err := ParsePeer(p, f.Port)
		if err != nil {
			return c, err
		}
		c.Link.Peers = append(c.Link.Peers, peer)
	}
	return c, nil
}

// ParsePeer reads an address with or without a port. port is the default.
func ParsePeer(text string, port uint16) (netip.AddrPort, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.AddrPortFrom(a, port), nil
	}
	ap, err := netip.ParseAddrPort(text)
	if err != nil {
		return ap, fmt.Errorf("--peer %q: want an address, or an address with a port", text)
	}
	return ap, nil
}
