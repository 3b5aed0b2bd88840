package main

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"time"

	"github.com/spf13/cobra"

	"airtide/monitor"
	"airtide/share"
	"airtide/share/cellkey"
	"airtide/share/control"
	"airtide/share/link"
)

func newShare() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "share",
		Short: "Share one access point fairly and fast with other terminals",
		Long: `Terminals on one access point tell each other what they reach and deliver, and each keeps its congestion windows to its share
of the airtime and of the wire. All of them have the same key.

docs/share.md tells how shares are found, and docs/share-messages.md what is said.`,
		Example: `  airtide share key -o cell.key                 once; give it to every terminal
  airtide share run --key cell.key --interface wlan0`,
		Args: func(_ *cobra.Command, args []string) error { return unknownVerb(args) },
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newShareRun(), newShareKey())
	return cmd
}

func newShareKey() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "key [-o FILE]",
		Short: "Make a key of a cell",
		Long: `Makes a key that all terminals of a cell are given. Who has it can read what they say and take part; keep it as you keep the
password of the Wi-Fi.`,
		Example: `  airtide share key -o cell.key     a file that only you can read
  airtide share key                 to standard output`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			k := cellkey.New()
			if path == "" {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), k.Text())
				return err
			}
			return cellkey.Create(path, k)
		},
	}
	cmd.Flags().StringVarP(&path, "output", "o", "", "the file to write; it may not be there yet")
	return cmd
}

// shareFlags are those of share run as they are given.
type shareFlags struct {
	key, device, policy, maximum, capacity, source string
	peers                                          []string
	port                                           uint16
	weight                                         float64
	asJSON                                         bool
}

func newShareRun() *cobra.Command {
	var f shareFlags
	cmd := &cobra.Command{
		Use:   "run --key FILE [flags]",
		Short: "Take part in sharing until Ctrl-C",
		Long: `Takes part in sharing: sees this network namespace's connections, tells the other terminals, and bounds the congestion windows of
what it sends. Without others, and when they fall silent for a second, nothing is bound; when it ends, however that is,
everything is as before.

What this terminal reaches alone decides its share of the airtime. Give it by --max-rate; else the highest rate that was seen
stands for it. Needs root.`,
		Example: `  airtide share run --key cell.key --interface wlan0 --max-rate 400Mbit
  airtide share run --key cell.key --peer 192.168.1.20 --peer 192.168.1.21   where access points keep multicast back
  airtide share run --key cell.key --interface wlan0 --policy observe --json`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := f.config()
			if err != nil {
				return misuse{err}
			}
			if c.Key, err = cellkey.Read(f.key); err != nil {
				return err
			}
			c.Notice = func(line string) { fmt.Fprintln(os.Stderr, line) }
			out := json.NewEncoder(cmd.OutOrStdout())
			last := time.Time{}
			c.Step = func(s share.Status) {
				if f.asJSON && s.Time.Sub(last) >= time.Second {
					last = s.Time
					_ = out.Encode(s)
				}
			}
			return share.Run(cmd.Context(), c)
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.key, "key", "", "file with the cell's key (required)")
	fl.StringVar(&f.device, "interface", "", "interface by which the access point is reached: flows of its addresses, multicast on it")
	fl.StringSliceVar(&f.peers, "peer", nil, "address, or address:port, of a terminal to tell by unicast (repeatable)")
	fl.Uint16Var(&f.port, "port", link.Port, "UDP port of the terminals")
	fl.StringVar(&f.policy, "policy", string(control.Shares), "shares, equal-cap (our reconstruction of P4's middleware), or observe")
	fl.StringVar(&f.maximum, "max-rate", "", "what this terminal reaches alone, such as 400Mbit")
	fl.StringVar(&f.capacity, "capacity", "", "what equal-cap divides, such as 1Gbit")
	fl.Float64Var(&f.weight, "weight", 1, "what this terminal counts for, 0.1 to 10")
	fl.StringVar(&f.source, "source", string(monitor.Auto), "where samples come from: auto, bpf or diag")
	fl.BoolVar(&f.asJSON, "json", false, "print how it is doing as a line of JSON each second")
	_ = cmd.MarkFlagRequired("key")
	_ = cmd.RegisterFlagCompletionFunc("policy", cobra.FixedCompletions([]string{"shares", "equal-cap", "observe"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (f *shareFlags) config() (c share.Config, err error) {
	c = share.Config{Interface: f.device, Weight: f.weight, Link: link.Config{Interface: f.device, Port: f.port}}
	if c.Policy, err = control.ParsePolicy(f.policy); err != nil {
		return c, err
	}
	if c.Source, err = monitor.ParseKind(f.source); err != nil {
		return c, err
	}
	for _, rate := range []struct {
		flag, text string
		to         *float64
	}{{"max-rate", f.maximum, &c.MaxBps}, {"capacity", f.capacity, &c.CapacityBps}} {
		if rate.text == "" {
			continue
		}
		if *rate.to, err = parseBitRate(rate.text); err != nil {
			return c, fmt.Errorf("--%s %q: want a rate such as 400Mbit", rate.flag, rate.text)
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
