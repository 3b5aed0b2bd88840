package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/observe/monitor"
	"airtide/internal/share"
	"airtide/internal/share/cellkey"
	"airtide/internal/share/control"
	"airtide/internal/share/link"
	"airtide/internal/share/live"
	"airtide/internal/share/metrics"
	"airtide/internal/share/radio"
)

// shareFlags are those of share run as they are given.
type shareFlags struct {
	key, device, policy, maximum, capacity, source, phyFile string
	multicast, alpha                                        string
	peers                                                   []string
	port                                                    uint16
	weight                                                  float64
	single                                                  bool
	asJSON                                                  bool
	metrics, otlp                                           string
}

func newShareRun() *cobra.Command {
	var f shareFlags
	cmd := &cobra.Command{
		Use:   "run --key FILE [flags]",
		Short: "Take part in sharing until Ctrl-C",
		Long: `Takes part in sharing: sees this network namespace's connections, tells the other terminals, and bounds the congestion windows of
what it sends. Without others, and when they fall silent for a second, nothing is bound; when it ends, however that is,
everything is as before.

What this terminal reaches alone decides its share of the airtime. Give it by --max-rate; else it follows from the PHY rate that
nl80211 tells, and where there is no Wi-Fi it is found. Needs root.`,
		Example: `  airtide share run --key cell.key --interface wlan0 --max-rate 400Mbit
  airtide share run --key cell.key --peer 192.168.1.20 --peer 192.168.1.21   where access points keep multicast back
  airtide share run --key cell.key --peer 192.168.1.2      where airtide share hub runs
  airtide share run --key cell.key --interface wlan0 --metrics localhost:9478 --otlp http://collector:4318
  airtide share run --key cell.key --interface wlan0 --policy observe --json`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.key == "" {
				return errNoKey
			}
			c, err := f.config()
			if err != nil {
				return misuse{err}
			}
			if c.Key, err = cellkey.Read(f.key); err != nil {
				return err
			}
			return f.run(cmd, c)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.key, "key", "", "file with the cell's key (required)")
	fl.StringVar(&f.device, "interface", "", "interface by which the access point is reached: flows of its addresses, multicast on it")
	fl.StringSliceVar(&f.peers, "peer", nil, "address, or address:port, of a terminal to tell by unicast, or of a hub (repeatable)")
	fl.Uint16Var(&f.port, "port", link.Port, "UDP port of the terminals")
	fl.StringVar(&f.policy, "policy", string(control.Shares), "shares, equal-cap (our reconstruction of the middleware of Matsuno et al. 2021), or observe")
	fl.StringVar(&f.maximum, "max-rate", "", "what this terminal reaches alone, such as 400Mbit")
	fl.StringVar(&f.capacity, "capacity", "", "what equal-cap divides, such as 1Gbit")
	fl.Float64Var(&f.weight, "weight", 1, "what this terminal counts for, 0.1 to 10")
	fl.StringVar(&f.alpha, "alpha", "1", "what is fair, the same on all terminals: 0 puts the total first, 1 is proportional fairness, inf is max-min")
	fl.StringVar(&f.multicast, "multicast-rate", "", "at what the access point sends multicast (default 6Mbit above 2.4 GHz, else 1Mbit)")
	fl.StringVar(&f.phyFile, "phy-file", "", "file that tells the PHY rate of now where nl80211 does not (docs/design/sharing.md); read twice a second")
	fl.BoolVar(&f.single, "single-frames", false, "the radio has no aggregates (802.11a, b, g); where there is Wi-Fi, nl80211 tells")
	fl.StringVar(&f.source, "source", string(monitor.Auto), "where samples come from: auto, bpf or diag")
	fl.StringVar(&f.metrics, "metrics", "", "serve metrics to Prometheus at this address, such as localhost:9478: http://ADDRESS/metrics")
	fl.StringVar(&f.otlp, "otlp", "", "tell metrics to the OpenTelemetry collector at this URL, such as http://collector:4318")
	fl.BoolVar(&f.asJSON, "json", false, "print how it is doing as a line of JSON each second")
	_ = cmd.RegisterFlagCompletionFunc("policy", cobra.FixedCompletions([]string{"shares", "equal-cap", "observe"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// run shares, and lets others look on.
func (f *shareFlags) run(cmd *cobra.Command, c share.Config) (err error) {
	c.Notice = func(line string) { fmt.Fprintln(os.Stderr, line) }
	tap := &live.Tap{}
	closed := func(what interface{ Close() error }) { err = errors.Join(err, what.Close()) }
	if server, err := live.Serve(c.Key.Tag(), tap); err != nil {
		c.Notice(err.Error()) // it shares without being asked, then
	} else {
		defer closed(server)
	}
	if f.metrics != "" {
		server, err := metrics.Serve(f.metrics, tap.Look)
		if err != nil {
			return err
		}
		defer closed(server)
	}
	if f.otlp != "" {
		exporter, err := metrics.Export(f.otlp, version(), tap.Look, c.Notice)
		if err != nil {
			return err
		}
		defer closed(exporter)
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
	out := json.NewEncoder(cmd.OutOrStdout())
	last := time.Time{}
	c.Step = func(s share.Status) {
		tap.Step(s)
		if f.asJSON && s.Time.Sub(last) >= time.Second {
			last = s.Time
			_ = out.Encode(s)
		}
	}
	return share.Run(cmd.Context(), c)
}

// radio is what tells the PHY rate.
func (f *shareFlags) radio(c *share.Config) (*radio.Radio, error) {
	if f.phyFile != "" {
		return radio.BeginFile(f.phyFile, c.Notice)
	}
	return radio.Begin(f.device, c.Link.Addresses())
}

func (f *shareFlags) config() (c share.Config, err error) {
	c = share.Config{Interface: f.device, Weight: f.weight, SingleFrames: f.single, Link: link.Config{Interface: f.device, Port: f.port}}
	if c.Policy, err = control.ParsePolicy(f.policy); err != nil {
		return c, err
	}
	if c.Source, err = monitor.ParseKind(f.source); err != nil {
		return c, err
	}
	for _, rate := range []struct {
		flag, text string
		to         *float64
	}{{"max-rate", f.maximum, &c.MaxBps}, {"capacity", f.capacity, &c.CapacityBps}, {"multicast-rate", f.multicast, &c.MulticastBps}} {
		if rate.text == "" {
			continue
		}
		if *rate.to, err = parseBitRate(rate.text); err != nil {
			return c, fmt.Errorf("--%s %q: want a rate such as 400Mbit", rate.flag, rate.text)
		}
	}
	alpha, err := strconv.ParseFloat(f.alpha, 64)
	if err != nil || !(alpha >= 0) {
		return c, fmt.Errorf("--alpha %q: want a number from 0 on, or inf", f.alpha)
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

// parseBitRate reads a rate with a unit, in bit/s.
func parseBitRate(text string) (float64, error) {
	v, unit, err := parseRate(text)
	if err == nil && unit == "" {
		err = fmt.Errorf("%q has no unit", text)
	}
	return v * 1e6, err
}
