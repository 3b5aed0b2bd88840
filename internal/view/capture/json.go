package capture

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"

	"airtide/internal/packets/conn"
	"airtide/internal/units"
)

// Analysis is the JSON of a capture. Connections come first, because they are printed as they end.
type Analysis struct {
	Connections []*conn.Connection `json:"connections"`
	// LeftOut counts the connections behind the last that may be printed.
	LeftOut uint64      `json:"left_out_connections,omitempty"`
	Totals  conn.Totals `json:"totals"`
	// Damage names the place where the capture stops being readable.
	Damage string `json:"damage,omitempty"`
}

// JSON prints the connections in the order of their ends, and the totals.
func (v *Viewer) JSON(ctx context.Context) error {
	c, err := Open(ctx, v.Terminal, v.Path)
	if err != nil {
		return err
	}
	defer c.Close()
	out := bufio.NewWriter(v.Terminal.Out)
	printed, leftOut := 0, uint64(0)
	totals, damage, err := c.Run(ctx, conn.Options{MaxOpen: v.MaxOpen, Done: func(c *conn.Connection) error {
		if v.One && c.ID != v.Number {
			return nil
		}
		if v.MaxJSON > 0 && printed >= v.MaxJSON {
			leftOut++
			return nil
		}
		text, err := json.MarshalIndent(c, "    ", "  ")
		if err != nil {
			return err
		}
		start := "{\n  \"connections\": [\n    "
		if printed++; printed > 1 {
			start = ",\n    "
		}
		_, err = fmt.Fprintf(out, "%s%s", start, text)
		return err
	}})
	if err == nil && v.One && printed == 0 {
		err = v.missing(totals)
	}
	if err != nil {
		return err
	}
	end := Analysis{Totals: totals, LeftOut: leftOut}
	if damage != nil {
		end.Damage = damage.Error()
	}
	text, err := json.MarshalIndent(end, "", "  ")
	if err != nil {
		return err
	}
	tail := text[len("{\n  \"connections\": null"):]
	if printed == 0 {
		fmt.Fprint(out, "{\n  \"connections\": []")
	} else {
		fmt.Fprint(out, "\n  ]")
	}
	fmt.Fprintf(out, "%s\n", tail)
	if err := out.Flush(); err != nil {
		return err
	}
	if leftOut > 0 {
		v.Terminal.Warnf("left out %d of %s; --limit raises %d", leftOut,
			units.Count(totals.Connections, "connection"), v.MaxJSON)
	}
	return c.Report(damage)
}
