package paper

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image/png"
	"io"
	"math"

	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// WriteSVG adds fall-backs to the font that have the same widths.
func WriteSVG(w io.Writer, c *vgsvg.Canvas) error {
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return fmt.Errorf("making SVG: %w", err)
	}
	out := bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;"))
	if _, err := w.Write(out); err != nil {
		return fmt.Errorf("writing SVG: %w", err)
	}
	return nil
}

// WritePNG adds the resolution (chunk pHYs, in pixels per metre), from which text processors take the size in print.
func WritePNG(w io.Writer, c *vgimg.Canvas, dpi int) error {
	var b bytes.Buffer
	if err := png.Encode(&b, c.Image()); err != nil {
		return fmt.Errorf("making PNG: %w", err)
	}
	perMetre := uint32(math.Round(float64(dpi) / 0.0254))
	chunk := append([]byte("pHYs"), binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, perMetre), perMetre)...)
	chunk = append(chunk, 1)
	const header = 8 + 25 // signature and IHDR, behind which the chunk goes
	out := append([]byte{}, b.Bytes()[:header]...)
	out = binary.BigEndian.AppendUint32(out, uint32(len(chunk)-4))
	out = append(out, chunk...)
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(chunk))
	out = append(out, b.Bytes()[header:]...)
	if _, err := w.Write(out); err != nil {
		return fmt.Errorf("writing PNG: %w", err)
	}
	return nil
}
