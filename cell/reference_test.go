package cell

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"airtide/cell/medium"
)

// reference is a row of saturating UDP in ns-3, see medium/testdata/README.md.
type reference struct {
	Case, phy, direction, options string
	mbps, slowMbps, goodput, runs float64
	n, slow, streams, ampdu, wire int
	backlog                       float64
}

func readReference(t *testing.T) []reference {
	t.Helper()
	f, err := os.Open("medium/testdata/ns3_udp.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := map[string]int{}
	for i, name := range lines[0] {
		column[name] = i
	}
	var rows []reference
	for _, line := range lines[1:] {
		text := func(name string) string { return line[column[name]] }
		number := func(name string) float64 { return must(strconv.ParseFloat(text(name), 64)) }
		rows = append(rows, reference{
			text("case"), text("phy"), text("dir"), text("options"), number("rate_mbps"), number("slow_rate_mbps"),
			number("goodput_mbps"), number("runs"), int(number("n")), int(number("n_slow")), int(number("nss")),
			int(number("ampdu_max")), int(number("wired_mbps")), number("apq_mean"),
		})
	}
	return rows
}

func (r *reference) name() string {
	return fmt.Sprintf("%s %s %g n%d+%d %s wire %d %s", r.Case, r.phy, r.mbps, r.n, r.slow, r.direction, r.wire, r.options)
}

// config is the cell that the row describes.
func (r *reference) config() Config {
	kinds := map[string]struct {
		standard medium.Standard
		width    int
	}{"g": {medium.Std11g, 0}, "n20": {medium.Std11n, 20}, "n40": {medium.Std11n, 40}, "ac80": {medium.Std11ac, 80}}
	kind := kinds[r.phy]
	streams := r.streams
	if kind.standard == medium.Std11g {
		streams = 0
	}
	aggregation := Aggregation{Bytes: r.ampdu}
	if r.ampdu == 0 {
		aggregation.Frames = 1
	}
	var terminals []Terminal
	for i := range r.n + r.slow {
		p := must(medium.AtRate(kind.standard, kind.width, streams, r.mbps))
		if i >= r.n {
			width := 20
			if strings.Contains(r.options, "slowWidth=40") {
				width = 40
			}
			p = must(medium.AtRate(medium.Std11n, width, 1, r.slowMbps))
		}
		t := Terminal{Name: fmt.Sprint("t", i), Radio: radio(p)}
		t.Radio.Aggregation = aggregation
		terminals = append(terminals, t)
	}
	c := gigabit(terminals...)
	// A packet takes 1500 bytes of that wire, with its point-to-point framing, and of this one 1536.
	c.WireUp[0].Wire.RateBps = int64(r.wire) * 1e6 * 1536 / 1500
	c.LeaveOutVHTSIGB, c.AP.Aggregation = true, aggregation
	c.BlockAckRequest, c.EIFSAfterCollision = !strings.Contains(r.options, "bar=0"), strings.Contains(r.options, "preambleDet=0")
	if kind.standard == medium.Std11g {
		c.Band = medium.Band2GHz
	}
	return c
}

// run is the goodput in Mbit/s with a seed.
func (r *reference) run(t *testing.T, seed uint64) float64 {
	c := r.config()
	c.Seed = seed
	d := newDriver(t, c)
	stations := r.n + r.slow
	for i := range stations {
		switch r.direction {
		case "up":
			d.saturated[i] = toServer
		case "down":
			d.down, d.downNs = append(d.down, i), wireNs
		case "s2s":
			d.saturated[0] = 1
		}
	}
	d.run(1e9)
	d.w.Begin(d.nowNs)
	from := d.status()
	d.run(5e9)
	w := Between(from, d.status())
	packets := w.WireUp.RateMbps
	if r.direction != "up" {
		packets = w.AP.Radio.RateMbps
	}
	return packets * payloadBytes / udpPacket
}

func TestUDPThroughTheWholeAgreesWithNS3(t *testing.T) {
	tried := 0
	for _, r := range readReference(t) {
		tried++
		t.Run(r.name(), func(t *testing.T) {
			t.Parallel()
			seeds := 2
			if r.n > 0 && r.slow > 0 && r.direction == "up" {
				seeds = 12 // who wins is chance, and each access of a slow one costs eight of a fast one
			}
			var sum, squares float64
			for seed := range seeds {
				mbps := r.run(t, uint64(seed+1))
				sum, squares = sum+mbps, squares+mbps*mbps
			}
			n := float64(seeds)
			mean := sum / n
			deviation := math.Sqrt(max(0, squares/n-mean*mean) * n / (n - 1))
			// The reference's own mean is as uncertain as its runs are few.
			allowed := max(0.05, 2*deviation/mean/math.Sqrt(r.runs))
			t.Logf("%.2f Mbit/s, reference %.2f (%+.1f %%)", mean, r.goodput, 100*(mean/r.goodput-1))
			if math.Abs(mean/r.goodput-1) > allowed {
				t.Errorf("goodput of %.2f Mbit/s, reference %.2f: more than %.1f %% apart", mean, r.goodput, 100*allowed)
			}
		})
	}
	if tried == 0 {
		t.Error("the reference has no row for this test")
	}
}
