package plot

import (
	"bytes"
	"testing"

	"airtide/test/svg"
)

// drawSVG draws and reads back a figure.
func drawSVG(t *testing.T, kind Kind, flows []*FlowSeries, o Options) *svg.Picture {
	t.Helper()
	var b bytes.Buffer
	if err := Draw(&b, "svg", kind, flows, o); err != nil {
		t.Fatal(err)
	}
	return svg.Read(t, b.Bytes())
}
