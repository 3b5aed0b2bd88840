package units

import (
	"encoding/csv"
	"io"
)

// CSV writes rows as RFC 4180 text. Every cell passes through Cell.
type CSV struct {
	out   *csv.Writer
	cells []string
}

// NewCSV returns a writer of rows.
func NewCSV(out io.Writer) *CSV { return &CSV{out: csv.NewWriter(out)} }

// Row writes a row. The cells are not kept.
func (c *CSV) Row(cells ...string) error {
	c.cells = c.cells[:0]
	for _, cell := range cells {
		c.cells = append(c.cells, Cell(cell))
	}
	return c.out.Write(c.cells)
}

// Flush writes buffered rows. It returns the first error of any row.
func (c *CSV) Flush() error {
	c.out.Flush()
	return c.out.Error()
}
