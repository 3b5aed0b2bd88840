package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"airtide/internal/share"
	"airtide/internal/share/cellkey"
	"airtide/internal/share/hub"
	"airtide/internal/share/link"
	"airtide/internal/sys/privilege"
	"airtide/internal/units"
	"airtide/internal/view/terminal"
)

func newShareHub(t *terminal.Terminal) *cobra.Command {
	var (
		keys   []string
		listen string
		asJSON jsonFlag
	)
	cmd := &cobra.Command{
		Use:   "hub --key FILE [flags]",
		Short: "Relay reports between terminals whose access point separates them",
		Long: `Runs on the wired side, on any machine that the terminals reach. Terminals that name it by --peer
send it their reports. The hub passes the reports of a member of a cell on to the other members,
still encrypted. It needs the keys of the cells to recognise members. It does not need root.`,
		Example: `  airtide share hub --key cell.key
  airtide share hub --key cell.key --key guests.key --listen 192.168.1.2:4748
  airtide share run --key cell.key --peer 192.168.1.2    on each terminal`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(keys) == 0 {
				return errNoKey
			}
			at, err := parseListen(listen)
			if err != nil {
				return usageError{err}
			}
			ctx, stop := context.WithCancelCause(cmd.Context())
			defer stop(nil)
			var unprinted error
			show := printHub(t, bool(asJSON))
			c := hub.Config{Listen: at, Step: func(s hub.Status) {
				unprinted = show(s)
				if unprinted != nil {
					stop(unprinted)
				}
			}}
			var follow []func() cellkey.Pair
			for _, path := range keys {
				k, err := cellkey.Read(path)
				if err != nil {
					return err
				}
				c.Keys = append(c.Keys, k)
				follow = append(follow, cellkey.Follow(path, k, func(line string) { t.Notef("%s", line) }))
			}
			c.Follow = func() (now []cellkey.Pair) {
				for _, f := range follow {
					now = append(now, f())
				}
				return now
			}
			h, err := hub.Open(c)
			if err != nil {
				return err
			}
			defer h.Close()
			// The keys are read again when their files are replaced.
			files := privilege.Paths{}
			for _, path := range keys {
				files.Read = append(files.Read, filepath.Dir(path))
			}
			if err := errors.Join(privilege.Confine(files), privilege.Drop(hubRights())); err != nil {
				return err
			}
			if at.Addr().IsValid() {
				t.Notef("listening on %s", netip.AddrPortFrom(at.Addr(), h.Port()))
			} else {
				t.Notef("listening on port %d", h.Port())
			}
			return errors.Join(h.Run(ctx), unprinted)
		},
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&keys, "key", nil, "file with a cell's key (required, repeatable)")
	fl.StringVar(&listen, "listen", fmt.Sprintf(":%d", link.Port),
		"address, port or both (default address: all of this machine)")
	asJSON.register(fl, "print the state of the cells as a line of JSON each second")
	return cmd
}

// printHub prints the number of terminals when it changes, or with JSON the status each second.
func printHub(t *terminal.Terminal, asJSON bool) func(hub.Status) error {
	terminals := map[string]int{}
	return func(s hub.Status) error {
		for _, c := range s.Cells {
			if before, known := terminals[c.Cell]; !known || before != c.Terminals {
				terminals[c.Cell] = c.Terminals
				t.Notef("cell %s: %s", c.Cell, units.Count(c.Terminals, "terminal"))
			}
		}
		if !asJSON {
			return nil
		}
		return t.JSONLine(s)
	}
}

// parseListen reads an address, a port behind a colon, or both.
func parseListen(text string) (netip.AddrPort, error) {
	if port, found := strings.CutPrefix(text, ":"); found {
		if n, err := strconv.ParseUint(port, 10, 16); err == nil && n > 0 {
			return netip.AddrPortFrom(netip.Addr{}, uint16(n)), nil
		}
	} else if at, err := share.ParsePeer(text, link.Port); err == nil && at.Port() > 0 {
		return at, nil
	}
	return netip.AddrPort{}, fmt.Errorf("--listen %q: want an address, :PORT, or an address with a port", text)
}
