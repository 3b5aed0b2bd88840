package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/share"
	"airtide/internal/share/cellkey"
	sharemetrics "airtide/internal/share/metrics"
	"airtide/internal/share/radio"
	"airtide/internal/share/statusfeed"
	"airtide/internal/share/steplog"
	"airtide/internal/sys/privilege"
	"airtide/internal/view/terminal"
)

func newShareRun(t *terminal.Terminal) *cobra.Command {
	f := share.DefaultFlags()
	cmd := &cobra.Command{
		Use:   "run --key FILE [flags]",
		Short: "Take part in sharing until Ctrl-C",
		Long: `Takes part in sharing: sees the connections of this network namespace, reports to the other
terminals, and bounds the congestion windows of what this terminal sends. Without other terminals,
or when they have been silent for a second, nothing is bounded. When the agent ends, however it
ends, everything is restored. Needs root.

The rate that this terminal reaches alone decides its share of the airtime. Set it by --max-rate.
Otherwise it follows from the PHY rate that nl80211 reports; without Wi-Fi it is measured.

--phy-file names a file in which another program keeps the PHY rate if nl80211 does not report it;
it is read twice a second. Write a new file and rename it. A rate of 0 means none; "bssid",
"frequency_mhz" and "busy", the busy part of the channel's last second, may be added:

  ` + radio.FileExample + `

The standards are ` + strings.Join(radio.Standards(), ", ") + `.`,
		Example: `  airtide share run --key cell.key --interface wlan0 --max-rate 400Mbit
  airtide share run --key cell.key --peer 192.168.1.20 --peer 192.168.1.21
  airtide share run --key cell.key --peer 192.168.1.2    if a hub runs there
  airtide share run --key cell.key --interface wlan0 --metrics localhost:9478
  airtide share run --key cell.key --interface wlan0 --policy observe --json`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.Key == "" {
				return errNoKey
			}
			c, err := f.Config()
			if err != nil {
				return usageError{err}
			}
			if c.Link.Interface == "" && len(c.Link.Peers) == 0 {
				return usageError{errors.New("no way to the other terminals: give --interface, --peer or both")}
			}
			if err := checkCollector(f.OTLP); err != nil {
				return err
			}
			keys, err := cellkey.Read(f.Key)
			if err != nil {
				return err
			}
			c.Key = keys.New
			c.OldKey = keys.Old
			c.Keys = cellkey.Follow(f.Key, keys, func(line string) { t.Notef("%s", line) })
			return runAgent(cmd.Context(), t, f, c)
		},
	}
	f.Register(cmd.Flags())
	fixed(cmd, "policy", "shares", "equal-cap", "equal-range", "observe")
	fixed(cmd, "source", "auto", "bpf", "diag")
	return cmd
}

// runAgent runs the agent with its status socket, metrics and radio.
func runAgent(ctx context.Context, t *terminal.Terminal, f share.Flags, c share.Config) (err error) {
	c.Notice = func(line string) { t.Notef("%s", line) }
	starting := share.Starting(&c)
	tap := &statusfeed.Feed{Starting: &starting}
	closed := func(what interface{ Close() error }) { err = errors.Join(err, what.Close()) }
	server, unserved := statusfeed.Serve(ctx, c.Key.Tag(), tap)
	if unserved == nil {
		defer closed(server)
	}
	unpublish, err := publish(f.Metrics, f.OTLP, "airtide-share", sharemetrics.Set(tap.Next), c.Notice)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unpublish()) }()
	if f.Record != "" {
		w, err := steplog.Create(f.Record)
		if err != nil {
			return err
		}
		defer closed(w)
		c.Record = w
	}
	switch r, err := openRadio(f, c); {
	case err == nil:
		c.Radio = r.State
		defer closed(r)
	case f.PHYFile != "":
		return err
	case !errors.Is(err, radio.ErrNone):
		c.Notice(err.Error())
	}
	if err := privilege.Drop(sharingRights(&f)); err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	last := time.Time{}
	var unprinted error
	c.Step = func(s share.Status) {
		if unserved != nil { // it shares without a status socket
			c.Notice(unserved.Error())
			unserved = nil
		}
		tap.Publish(s)
		if f.JSON && s.Time.Sub(last) >= time.Second {
			last = s.Time
			unprinted = t.JSONLine(s)
			if unprinted != nil {
				stop(unprinted)
			}
		}
	}
	return errors.Join(share.Run(ctx, c), unprinted)
}

// openRadio opens the source of the PHY rate.
func openRadio(f share.Flags, c share.Config) (*radio.Radio, error) {
	if f.PHYFile != "" {
		return radio.OpenFile(f.PHYFile, c.Notice)
	}
	return radio.Open(f.Interface, c.Link.Addresses())
}
