package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"airtide/internal/view/terminal"

	"github.com/spf13/cobra"

	"airtide/internal/observe/monitor"
	"airtide/internal/share"
	"airtide/internal/share/allocate"
	"airtide/internal/share/cellkey"
	"airtide/internal/share/control"
	"airtide/internal/share/link"
	"airtide/internal/share/live"
	"airtide/internal/share/metrics"
	"airtide/internal/share/radio"
	"airtide/internal/share/steplog"
	"airtide/internal/units"
)

// shareFlags are the flags of share run as the user gives them.
type shareFlags struct {
	key, device, policy, source, phyFile, alpha string
	maximum, capacity, multicast                units.Rate
	peers                                       []string
	port                                        uint16
	weight                                      float64
	single                                      bool
	asJSON                                      jsonFlag
	metrics, otlp, record                       string
}

func newShareRun(t *terminal.Terminal) *cobra.Command {
	var f shareFlags
	cmd := &cobra.Command{
		Use:   "run --key FILE [flags]",
		Short: "Take part in sharing until Ctrl-C",
		Long: `Takes part in sharing: sees the connections of this network namespace, reports to the other
terminals, and bounds the congestion windows of what this terminal sends. Without other terminals,
or when they have been silent for a second, nothing is bounded. When the agent ends, however it
ends, everything is restored. Needs root.

The rate that this terminal reaches alone decides its share of the airtime. Set it by --max-rate.
Otherwise it follows from the PHY rate that nl80211 reports; without Wi-Fi it is measured.`,
		Example: `  airtide share run --key cell.key --interface wlan0 --max-rate 400Mbit
  airtide share run --key cell.key --peer 192.168.1.20 --peer 192.168.1.21   if the access point blocks multicast
  airtide share run --key cell.key --peer 192.168.1.2      address of a running airtide share hub
  airtide share run --key cell.key --interface wlan0 --metrics localhost:9478 --otlp http://collector:4318
  airtide share run --key cell.key --interface wlan0 --policy observe --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.key == "" {
				return errNoKey
			}
			c, err := f.config()
			if err != nil {
				return usageError{err}
			}
			if c.Key, err = cellkey.Read(f.key); err != nil {
				return err
			}
			return f.run(cmd.Context(), t, c)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.key, "key", "", "file with the cell's key (required)")
	fl.StringVar(&f.device, "interface", "", "interface to the access point: flows of its addresses, multicast on it")
	fl.StringSliceVar(
		&f.peers,
		"peer",
		nil,
		"address or address:port of a hub, or of a terminal to reach by unicast (repeatable)",
	)
	fl.Uint16Var(&f.port, "port", link.Port, "UDP port of the terminals")
	fl.StringVar(&f.policy, "policy", string(control.Shares),
		"shares, equal-cap or equal-range (our reconstructions of the middleware of Matsuno et al. 2021), "+
			"or observe")
	fl.Var(units.RateFlag(&f.maximum), "max-rate", "rate that this terminal reaches alone, such as 400Mbit")
	fl.Var(units.RateFlag(&f.capacity), "capacity", "rate that equal-cap and equal-range divide, such as 1Gbit")
	f.weight = 1
	fl.Var(units.NumberFlag(&f.weight), "weight", "weight of this terminal, 0.1 to 10")
	fl.StringVar(&f.alpha, "alpha", "1", "fairness, the same on all terminals: "+
		"0 maximises the total, 1 is proportional fairness, inf is max-min fairness")
	fl.Var(units.RateFlag(&f.multicast), "multicast-rate",
		"rate at which the access point sends multicast (default 6Mbit above 2.4 GHz, otherwise 1Mbit)")
	fl.StringVar(&f.phyFile, "phy-file", "", "file with the current PHY rate, if nl80211 does not report it "+
		"(docs/design/sharing.md); read twice a second")
	fl.BoolVar(&f.single, "single-frames", false,
		"the radio does not aggregate frames (802.11a, b, g); on Wi-Fi, nl80211 reports it")
	fl.StringVar(&f.source, "source", string(monitor.Auto), "source of samples: auto, bpf or diag")
	fl.StringVar(&f.record, "record", "",
		"record the inputs and outputs of each step to this file, as gzipped JSON lines")
	fl.StringVar(&f.metrics, "metrics", "",
		"serve Prometheus metrics at http://ADDRESS/metrics; ADDRESS such as localhost:9478")
	fl.StringVar(&f.otlp, "otlp", "",
		"send metrics to the OpenTelemetry collector at this URL, such as http://collector:4318")
	f.asJSON.register(fl, "print the state as a line of JSON each second")
	fixed(cmd, "policy", "shares", "equal-cap", "equal-range", "observe")
	fixed(cmd, "source", "auto", "bpf", "diag")
	return cmd
}

// run runs the agent with its status socket, metrics and radio.
func (f *shareFlags) run(ctx context.Context, t *terminal.Terminal, c share.Config) (err error) {
	c.Notice = func(line string) { t.Notef("%s", line) }
	tap := &live.Feed{}
	closed := func(what interface{ Close() error }) { err = errors.Join(err, what.Close()) }
	if server, err := live.Serve(c.Key.Tag(), tap); err != nil {
		c.Notice(err.Error()) // it shares without a status socket
	} else {
		defer closed(server)
	}
	if f.metrics != "" {
		server, err := metrics.Serve(f.metrics, tap.Next)
		if err != nil {
			return err
		}
		defer closed(server)
	}
	if f.otlp != "" {
		exporter, err := metrics.Export(f.otlp, version(), tap.Next, c.Notice)
		if err != nil {
			return err
		}
		defer closed(exporter)
	}
	if f.record != "" {
		w, err := steplog.Create(f.record)
		if err != nil {
			return err
		}
		defer closed(w)
		c.Record = w
	}
	switch r, err := f.radio(&c); {
	case err == nil:
		c.Radio = r.State
		defer closed(r)
	case f.phyFile != "":
		return err
	case !errors.Is(err, radio.ErrNone):
		c.Notice(err.Error())
	}
	last := time.Time{}
	c.Step = func(s share.Status) {
		tap.Publish(s)
		if f.asJSON && s.Time.Sub(last) >= time.Second {
			last = s.Time
			_ = t.JSONLine(s)
		}
	}
	return share.Run(ctx, c)
}

// radio is the source of the PHY rate.
func (f *shareFlags) radio(c *share.Config) (*radio.Radio, error) {
	if f.phyFile != "" {
		return radio.OpenFile(f.phyFile, c.Notice)
	}
	return radio.Open(f.device, c.Link.Addresses())
}

func (f *shareFlags) config() (c share.Config, err error) {
	c = share.Config{
		Interface: f.device, Weight: f.weight, SingleFrames: f.single,
		MaxBps: float64(f.maximum), CapacityBps: float64(f.capacity), MulticastBps: float64(f.multicast),
		Link: link.Config{Interface: f.device, Port: f.port},
	}
	if c.Policy, err = control.ParsePolicy(f.policy); err != nil {
		return c, err
	}
	if c.Source, err = monitor.ParseKind(f.source); err != nil {
		return c, err
	}
	alpha, err := allocate.ParseAlpha(f.alpha)
	if err != nil {
		return c, fmt.Errorf("--alpha %w", err)
	}
	c.Control.Alpha = &alpha
	if f.otlp != "" {
		if err := metrics.Check(f.otlp); err != nil {
			return c, fmt.Errorf("--otlp %w", err)
		}
	}
	for _, p := range f.peers {
		peer, err := parsePeer(p, f.port)
		if err != nil {
			return c, err
		}
		c.Link.Peers = append(c.Link.Peers, peer)
	}
	return c, nil
}

// parsePeer reads an address with or without a port.
func parsePeer(text string, port uint16) (netip.AddrPort, error) {
	if a, err := netip.ParseAddr(text); err == nil {
		return netip.AddrPortFrom(a, port), nil
	}
	ap, err := netip.ParseAddrPort(text)
	if err != nil {
		return ap, fmt.Errorf("--peer %q: want an address, or an address with a port", text)
	}
	return ap, nil
}
