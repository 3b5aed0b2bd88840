package capture

import (
	"context"

	"airtide/internal/packets/conn"
	"airtide/internal/units"
	"airtide/internal/view/terminal"
)

// Analysis is the JSON of a capture. Connections come first, because they are printed as they end.
type Analysis struct {
	Connections []*conn.Connection `json:"connections"`
	analysisEnd
}

type analysisEnd struct {
	// LeftOut counts the connections behind the last that may be printed.
	LeftOut uint64      `json:"left_out_connections,omitempty"`
	Totals  conn.Totals `json:"totals"`
	// Damage names the place where the capture stops being readable.
	Damage string `json:"damage,omitempty"`
}

// List prints JSON whose first field is a list of any length.
type List struct {
	*terminal.List
	// Most is the number of printed values; zero stands for all. LeftOut counts the others.
	Most    int
	LeftOut uint64
}

// Add prints a value.
func (l *List) Add(value any) error {
	if l.Most > 0 && l.Printed >= l.Most {
		l.LeftOut++
		return nil
	}
	return l.List.Add(value)
}

// WarnLeftOut warns that values behind the limit were left out. of counts and names all.
func (v *Viewer) WarnLeftOut(n uint64, of string) {
	if n > 0 {
		v.Terminal.Warnf("left out %d of %s; --limit raises %d", n, of, v.Limit)
	}
}

// JSON prints the connections in the order of their ends, and the totals.
func (v *Viewer) JSON(ctx context.Context) error {
	c, err := Open(ctx, v.Terminal, v.Path)
	if err != nil {
		return err
	}
	defer c.Close()
	list := &List{List: v.Terminal.NewList("connections"), Most: v.Limit}
	totals, damage, err := c.Run(ctx, conn.Options{MaxOpen: v.MaxOpen, Done: func(c *conn.Connection) error {
		if v.One && c.ID != v.Number {
			return nil
		}
		return list.Add(c)
	}})
	if err == nil && v.One && list.Printed == 0 {
		err = v.missing(totals)
	}
	if err != nil {
		return err
	}
	end := analysisEnd{Totals: totals, LeftOut: list.LeftOut}
	if damage != nil {
		end.Damage = damage.Error()
	}
	if err := list.End(end); err != nil {
		return err
	}
	v.WarnLeftOut(list.LeftOut, units.Count(totals.Connections, "connection"))
	return c.Report(damage)
}
