package main

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"airtide/internal/share/cellkey"
	"airtide/internal/share/hub"
	"airtide/internal/share/link"
)

func newShareHub() *cobra.Command {
	var (
		keys   []string
		listen string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "hub --key FILE [flags]",
		Short: "Pass on what terminals say, where access points let none hear another",
		Long: `Runs on the wired side, on any machine that the terminals reach. Terminals that are given it by --peer send it their reports; it
passes those of members of a cell on to the others of that cell, sealed as they are. It needs the keys of the cells, to tell
members from strangers, and no root.`,
		Example: `  airtide share hub --key cell.key
  airtide share hub --key cell.key --key guests.key --listen 192.168.1.2:4748
  airtide share run --key cell.key --peer 192.168.1.2 --max-rate 400Mbit       on each terminal`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(keys) == 0 {
				return errNoKey
			}
			at, err := parseListen(listen)
			if err != nil {
				return misuse{err}
			}
			c := hub.Config{Listen: at, Step: sayHub(cmd, asJSON)}
			for _, path := range keys {
				k, err := cellkey.Read(path)
				if err != nil {
					return err
				}
				c.Keys = append(c.Keys, k)
			}
			h, err := hub.Open(c)
			if err != nil {
				return err
			}
			defer h.Close()
			fmt.Fprintf(os.Stderr, "listening on port %d\n", h.Port())
			return h.Run(cmd.Context())
		},
	}
	fl := cmd.Flags()
	fl.StringArrayVar(&keys, "key", nil, "file with a cell's key (required, repeatable)")
	fl.StringVar(&listen, "listen", fmt.Sprintf(":%d", link.Port), "address and port, or one of them; without an address all of this machine's")
	fl.BoolVar(&asJSON, "json", false, "print how the cells are doing as a line of JSON each second")
	return cmd
}

// sayHub tells how many terminals there are when that changes, or all that is known each second.
func sayHub(cmd *cobra.Command, asJSON bool) func(hub.Status) {
	terminals := map[string]int{}
	out := json.NewEncoder(cmd.OutOrStdout())
	return func(s hub.Status) {
		if asJSON {
			_ = out.Encode(s)
		}
		for _, c := range s.Cells {
			if before, known := terminals[c.Cell]; !known || before != c.Terminals {
				terminals[c.Cell] = c.Terminals
				fmt.Fprintf(os.Stderr, "cell %s: %d terminals\n", c.Cell, c.Terminals)
			}
		}
	}
}

// parseListen reads an address, a port behind a colon, or both.
func parseListen(text string) (netip.AddrPort, error) {
	if port, found := strings.CutPrefix(text, ":"); found {
		if n, err := strconv.ParseUint(port, 10, 16); err == nil && n > 0 {
			return netip.AddrPortFrom(netip.Addr{}, uint16(n)), nil
		}
	} else if at, err := parsePeer(text, link.Port); err == nil && at.Port() > 0 {
		return at, nil
	}
	return netip.AddrPort{}, fmt.Errorf("--listen %q: want an address, :PORT, or an address with a port", text)
}
