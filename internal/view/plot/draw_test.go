package plot

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/png"
	"math"
	"strings"
	"testing"
	"time"

	"airtide/internal/tcp"
	"airtide/internal/view/figure"
)

// Every figure names its axes with units and its curves in a legend.
func TestFiguresNameAxesAndCurves(t *testing.T) {
	bbr := upload
	bbr.bbr = true
	download := upload
	download.receives = true
	for _, c := range []struct {
		name  string
		kind  Kind
		o     Options
		flow  synthetic
		texts []string
	}{
		{"cwnd", Cwnd, Options{}, upload, []string{
			"ca_state, error code", "cwnd (packets)", "time (s)", "0 open", "1 disorder", "2 CWR", "3 recovery",
			"4 loss", "ca_state", "cwnd (right)", "ssthresh (right)", "code 1: reordering (1)",
			"code 2: local congestion (1)", "code 4: timeout (1)",
			"iperf3, 192.0.2.10:50424 > 198.51.100.7:5201, cubic",
		}},
		{
			"rtt", RTT,
			Options{},
			upload,
			[]string{"RTT (ms)", "time (s)", "latest RTT", "smoothed RTT (srtt)", "minimum RTT", "40"},
		},
		{"rtt of a receiver", RTT, Options{}, download, []string{"receiver's RTT estimate"}},
		{"queues", Queues, Options{}, upload, []string{
			"send queue (kB)", "queued", "unacknowledged", "unsent", "device queue",
			"send buffer limit (up to 2627 kB)",
		}},
		{"queues of a receiver", Queues, Options{}, download, []string{
			"receive queue (kB)", "queued", "backlog", "receive buffer limit",
		}},
		{"queues of a grid", Queues, Options{Grid: true}, upload, []string{"send queue (kB)", "receive queue (kB)"}},
		{"rates", Rates, Options{}, upload, []string{"rate (Mbit/s)", "goodput sent", "delivery rate", "pacing rate"}},
		{"rates of a receiver", Rates, Options{}, download, []string{"rate (Mbit/s)", "goodput received"}},
		{"windows", Windows, Options{}, upload, []string{
			"window (kB)", "in flight", "cwnd x MSS", "ssthresh x MSS", "send window (peer's) (up to 3146 kB)",
			"receive window (own)",
		}},
		{
			"cubic", Cubic,
			Options{},
			upload,
			[]string{"K (s)", "window (packets)", "K", "Wmax", "target", "Reno's window", "cwnd"},
		},
		{
			"cubic of another control", Cubic,
			Options{},
			bbr,
			[]string{"no CUBIC state here: the flow's congestion control is bbr"},
		},
		{"bbr", BBR, Options{}, bbr, []string{
			"rate (Mbit/s)", "bandwidth estimate", "RTT (ms)", "BBR's minimum RTT", "mode", "startup", "probe_rtt",
			"pacing gain (%)",
		}},
		{"sequence", Sequence, Options{}, upload, []string{
			"stream offset (MB)", "sent", "acknowledged", "window edge", "sent again: fast (12)",
			"sent again: timeout (1)", "sent again: after timeout (6)",
		}},
		{"sequence of a receiver", Sequence, Options{}, download, []string{"received", "read", "receive window edge"}},
		{
			"overview", Overview,
			Options{},
			upload,
			[]string{"cwnd (packets)", "RTT (ms)", "rate (Mbit/s)", "send queue (kB)", "time (s)"},
		},
		{
			"own title and note", RTT,
			Options{Title: "Figure 7", Note: "3 records were lost"},
			upload,
			[]string{"Figure 7", "3 records were lost"},
		},
		{"time of day", RTT, Options{Wall: time.Date(2026, 3, 14, 15, 9, 26, 0, time.UTC)}, upload, []string{
			"time of day, 2026-03-14 UTC", "15:09:28", "15:09:30",
		}},
		{"logarithmic", RTT, Options{LogRTT: true}, upload, []string{"RTT (ms)", "20", "30", "40"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			picture := drawSVG(t, c.kind, collect(t, []Kind{c.kind}, c.o, c.flow), c.o)
			for _, want := range c.texts {
				if !picture.Has(want) {
					t.Errorf("%q is missing among: %s", want, picture.All())
				}
			}
			picture.CheckLayout(t)
		})
	}
}

// No text overlaps another or leaves the paper in any sample figure, nor in odd sizes of it.
func TestLayoutHoldsInAllSizes(t *testing.T) {
	for _, s := range samples() {
		t.Run(s.name, func(t *testing.T) {
			o := s.o
			flows := collect(t, []Kind{s.kind}, s.o, s.flows...)
			for _, size := range [][2]float64{{o.WidthCm, o.HeightCm}, {24, 0}, {12, 30}} {
				o.WidthCm = size[0]
				o.HeightCm = size[1]
				drawSVG(t, s.kind, flows, o).CheckLayout(t)
			}
		})
	}
}

// byHand is a flow with one sample per 100 ms for 20 s and the given events.
func byHand(t *testing.T, kinds []Kind, o Options, set func(i int, s *tcp.Sample), events ...tcp.Event) []*FlowSeries {
	t.Helper()
	o.OriginNs = origin
	s := NewSeries(kinds, nil, o)
	if err := s.Flow(&tcp.Flow{ID: 1, Comm: "test", CongestionControl: "cubic"}); err != nil {
		t.Fatal(err)
	}
	b := tcp.NewBatch(200)
	for i := range 200 {
		var row tcp.Sample
		for f := range row.Values {
			row.Values[f] = tcp.Absent
		}
		row.TimeNs = origin + int64(i)*1e8
		row.Flow = 1
		row.Values[tcp.CwndPackets] = 10
		set(i, &row)
		b.Append(&row)
	}
	if err := s.Samples(b); err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		e.Flow = 1
		if err := s.Event(&e); err != nil {
			t.Fatal(err)
		}
	}
	return s.Flows()
}

// There is a mark for each event, if the events are far enough apart.
func TestEveryErrorIsMarked(t *testing.T) {
	var events []tcp.Event
	counts := map[tcp.ErrorCode]int{
		tcp.CodeReordering: 2, tcp.CodeLocalCongestion: 3, tcp.CodeDupAck: 7, tcp.CodeTimeout: 4,
	}
	for code, n := range counts {
		for i := range n {
			events = append(events, tcp.Event{TimeNs: origin + int64(i+1)*1e9, Code: code})
		}
	}
	picture := drawSVG(t, Cwnd, byHand(t, []Kind{Cwnd}, Options{}, func(int, *tcp.Sample) {}, events...), Options{})
	discs := 0
	for _, p := range picture.Paths {
		if strings.Contains(p.D, "A") {
			discs++
		}
	}
	for _, c := range []struct {
		what      string
		got, want int // numbers that include the legend's
	}{
		{"reordering", picture.Count("fill:#009E73"), 2 + 1},
		{"local congestion", picture.Count("fill:#CC79A7"), 3 + 1},
		{"duplicate ACK", picture.Count("stroke:#D55E00"), 7 + 1},
		{"timeout", discs, 4 + 1},
	} {
		if c.got != c.want {
			t.Errorf("%d marks of %s, want %d", c.got, c.what, c.want)
		}
	}
	for _, want := range []string{
		"code 1: reordering (2)", "code 2: local congestion (3)", "code 3: duplicate ACK, SACK (7)",
		"code 4: timeout (4)",
	} {
		if !picture.Has(want) {
			t.Errorf("the legend lacks %q: %s", want, picture.All())
		}
	}
}

// A hundred thousand errors give a legend that counts them all, and not a hundred thousand marks.
func TestManyErrorsShareMarks(t *testing.T) {
	events := make([]tcp.Event, 100_000)
	for i := range events {
		events[i] = tcp.Event{TimeNs: origin + int64(i)*190_000, Code: tcp.CodeDupAck}
	}
	picture := drawSVG(t, Cwnd, byHand(t, []Kind{Cwnd}, Options{}, func(int, *tcp.Sample) {}, events...), Options{})
	if !picture.Has("code 3: duplicate ACK, SACK (100000)") {
		t.Errorf("the legend does not count all: %s", picture.All())
	}
	if n := picture.Count("stroke:#D55E00"); n < 1000 || n > 2000 {
		t.Errorf("%d marks, want about one for each of the 1500 pixel columns", n)
	}
}

// caChange is a change of the congestion state, at a time since the origin.
func caChange(ns int64, from, to tcp.CAState) tcp.Event {
	return tcp.Event{TimeNs: origin + ns, Kind: tcp.EventCAState, From: uint8(from), To: uint8(to)}
}

// The figure of a state that comes and goes between two samples shows it.
func TestStateBetweenSamplesIsDrawn(t *testing.T) {
	flows := byHand(t, []Kind{Cwnd}, Options{}, func(_ int, s *tcp.Sample) { s.Values[tcp.CAStateField] = 0 },
		caChange(5_010_000_000, tcp.CAOpen, tcp.CARecovery), caChange(5_020_000_000, tcp.CARecovery, tcp.CAOpen))
	if _, hi, ok := flows[0].caState().extremes(origin, origin+10e9); !ok || hi != int64(tcp.CARecovery) {
		t.Errorf("the highest state is %d, want recovery", hi)
	}
}

// An absent value leaves a gap in the line: no step crosses it, and no zero stands in for it.
func TestAbsentValuesLeaveGaps(t *testing.T) {
	flows := byHand(t, []Kind{Cubic}, Options{}, func(i int, s *tcp.Sample) {
		if i < 50 || i >= 120 {
			s.Values[tcp.CubicKMs] = 3000
		}
	})
	picture := drawSVG(t, Cubic, flows, Options{})
	var lines [][]float64 // x of the points of each line of K
	for _, p := range picture.Paths {
		if strings.Contains(p.Style, "stroke:#0072B2") && strings.Contains(p.Style, "stroke-width:1.3") {
			var xs []float64
			for _, point := range strings.FieldsFunc(p.D, func(r rune) bool { return r == 'M' || r == 'L' }) {
				x, _, _ := strings.Cut(point, ",")
				xs = append(xs, number(t, x))
			}
			lines = append(lines, xs)
		}
	}
	// The legend's K, two stretches of K, the legend's cwnd, cwnd.
	if len(lines) != 5 {
		t.Fatalf("%d lines, want 5: the stretches of K are drawn as one", len(lines))
	}
	first := lines[1]
	second := lines[2]
	whole := lines[4]
	width := whole[len(whole)-1] - whole[0]
	at := func(x float64) float64 { return (x - whole[0]) / width * 19.9 }
	if end := at(first[len(first)-1]); math.Abs(end-5) > 0.02 {
		t.Errorf("K is drawn until %.2f s, want 5 s, when it went absent", end)
	}
	if start := at(second[0]); math.Abs(start-12) > 0.02 {
		t.Errorf("K is drawn again from %.2f s, want 12 s", start)
	}
	if lo, _, _ := flows[0].curve(tcp.CubicKMs).extremes(origin, origin+20e9); lo != 3000 {
		t.Errorf("the least K is %d, want 3000: an absent value has become a number", lo)
	}
}

// A spike of one sample in a million is as high in the picture as it was.
func TestSpikeOfOneSampleIsDrawn(t *testing.T) {
	const n = 1_000_000
	s := NewSeries([]Kind{RTT}, nil, Options{OriginNs: origin})
	b := tcp.NewBatch(4096)
	var row tcp.Sample
	for f := range row.Values {
		row.Values[f] = tcp.Absent
	}
	row.Flow = 1
	for i := range n {
		row.TimeNs = origin + int64(i)*10_000
		row.Values[tcp.RttUs] = 20_000 + int64(i%7)
		if i == 654_321 {
			row.Values[tcp.RttUs] = 95_000
		}
		b.Append(&row)
		if b.Len() == 4096 || i == n-1 {
			if err := s.Samples(b); err != nil {
				t.Fatal(err)
			}
			b.Reset()
		}
	}
	flows := s.Flows()
	if len(flows[0].curves[0].buckets) > curveLimit {
		t.Fatalf("%d buckets", len(flows[0].curves[0].buckets))
	}
	var out bytes.Buffer
	if err := Draw(&out, "png", RTT, flows, Options{Theme: figure.Print, NoTitle: true}); err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(&out)
	if err != nil {
		t.Fatal(err)
	}
	// The axis ends at 95 ms * 1.06; the spike alone is drawn at 90 ms, and it is at 65 % of the
	// time.
	frame := frameOf(t, picture)
	y := frame.Max.Y - int(float64(frame.Dy())*90/(95*1.06))
	var found []int
	for x := frame.Min.X + 3; x < frame.Max.X-3; x++ {
		if r, _, _, _ := picture.At(x, y).RGBA(); r>>8 < 0xD0 {
			found = append(found, x)
		}
	}
	want := frame.Min.X + int(float64(frame.Dx())*0.654321)
	if len(found) == 0 || found[0] < want-5 || found[len(found)-1] > want+5 {
		t.Errorf("at 90 ms there is ink at columns %v, want some near %d only", found, want)
	}
}

// frameOf finds the frame of the data: the longest dark row and column.
func frameOf(t *testing.T, p image.Image) image.Rectangle {
	t.Helper()
	b := p.Bounds()
	dark := func(x, y int) bool { r, _, _, _ := p.At(x, y).RGBA(); return r>>8 < 0x60 }
	var frame image.Rectangle
	for y := b.Min.Y; y < b.Max.Y; y++ {
		start := -1
		for x := b.Min.X; x < b.Max.X; x++ {
			if !dark(x, y) {
				start = -1
				continue
			}
			if start < 0 {
				start = x
			}
			if x-start > b.Dx()*3/4 {
				if frame.Empty() {
					frame = image.Rect(start, y, x, y+1)
				}
				if y == frame.Min.Y { // ticks lengthen the lower edge
					frame.Max.X = x
				}
				frame.Max.Y = y + 1
			}
		}
	}
	if frame.Empty() {
		t.Fatal("the picture has no frame")
	}
	return frame
}

// A PNG has the chosen size in pixels and its resolution, and is not blank.
func TestPNGHasSizeAndResolution(t *testing.T) {
	flows := collect(t, []Kind{Cwnd}, Options{}, upload)
	for _, c := range []struct {
		o    Options
		w, h int
		dpi  float64
	}{
		{Options{}, 1890, 1181, 300},
		{Options{WidthCm: 8.5, HeightCm: 6, DPI: 600}, 2008, 1417, 600},
	} {
		var b bytes.Buffer
		if err := Draw(&b, "png", Cwnd, flows, c.o); err != nil {
			t.Fatal(err)
		}
		at := bytes.Index(b.Bytes(), []byte("pHYs"))
		if at < 0 {
			t.Fatal("the PNG does not say its resolution")
		}
		if got := float64(binary.BigEndian.Uint32(b.Bytes()[at+4:])) * 0.0254; math.Abs(got-c.dpi) > 0.1 {
			t.Errorf("resolution %.1f dpi, want %.0f", got, c.dpi)
		}
		p, err := png.Decode(&b)
		if err != nil {
			t.Fatal(err)
		}
		if size := p.Bounds().Size(); abs(size.X-c.w) > 1 || abs(size.Y-c.h) > 1 {
			t.Errorf("%v pixels, want %d x %d", size, c.w, c.h)
		}
		colours := map[[3]uint32]int{}
		for y := range p.Bounds().Max.Y {
			for x := range p.Bounds().Max.X {
				r, g, b, _ := p.At(x, y).RGBA()
				colours[[3]uint32{r >> 8, g >> 8, b >> 8}]++
			}
		}
		for _, want := range [][3]uint32{
			{0xFF, 0xFF, 0xFF}, {0, 0, 0}, {0x00, 0x72, 0xB2}, {0xE6, 0x9F, 0x00}, {0xD5, 0x5E, 0x00},
		} {
			if colours[want] < 50 {
				t.Errorf("only %d pixels of colour %02X: a part of the figure is missing", colours[want], want)
			}
		}
	}
}

func TestGreyStyleHasNoColour(t *testing.T) {
	picture := drawSVG(t, Overview, collect(t, []Kind{Overview}, Options{}, upload), Options{Theme: figure.Print})
	for _, p := range picture.Paths {
		for _, part := range strings.Split(p.Style, "#")[1:] {
			if part[0:2] != part[2:4] || part[2:4] != part[4:6] {
				t.Fatalf("a coloured path in the grey style: %s", p.Style)
			}
		}
	}
}

func abs(x int) int { return max(x, -x) }

// A queue without data has no panel, and a column of a paper holds one column of a grid.
func TestFiguresLeaveOutWhatCannotBeRead(t *testing.T) {
	up := upload
	down := upload
	down.receives = true
	for _, c := range []struct {
		name            string
		kind            Kind
		o               Options
		flows           []synthetic
		panels, columns int
	}{
		{"sender", Queues, Options{}, []synthetic{up}, 1, 0},
		{"receiver", Queues, Options{}, []synthetic{down}, 1, 0},
		{"wide grid", Queues, Options{Grid: true}, []synthetic{up, down}, 2, 2},
		{"narrow grid", Cwnd, Options{Grid: true, WidthCm: 8.5}, []synthetic{up, down}, 1, 1},
	} {
		for i := range c.flows {
			c.flows[i].id = tcp.FlowID(i + 1)
		}
		f, err := Figure(c.kind, collect(t, []Kind{c.kind}, c.o, c.flows...), c.o)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(f.Cells[0].Panels); n != c.panels || f.Columns != c.columns {
			t.Errorf("%s: %d panels, %d columns: want %d and %d", c.name, n, f.Columns, c.panels, c.columns)
		}
	}
}
