// Package ns3 has reference figures of ns-3 for cells that airtide emulates. README.md says what
// they are.
package ns3

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

//go:embed ns3.csv
var figures string

// Row is one cell with its traffic and what ns-3 says of it. Rates are in Mbit/s, of payload where
// they are measured.
type Row struct {
	Case      string // letter of the family; S-... changes one thing of a case
	PHY       string // g, n20, n40, ac80
	RateMbps  float64
	N         int // stations at that rate
	Slow      int // stations at SlowMbps
	SlowMbps  float64
	Streams   int
	Direction string // up, down, s2s
	Protocol  string // udp, cubic, reno
	AMPDU     int    // most bytes; 0: no aggregation
	WireMbps  int
	APLimit   int // packets
	Runs      int // seeds
	Goodput   float64
	Range     [2]float64 // least and greatest value of the runs
	Stations  []float64  // the first run's, fast ones first
	Backlog   float64    // packets in the access point's queue
	RTTMs     float64    // as TCP measures it
	FramesSta, FramesAP,
	CollidedSta, AirSta, AirAP float64
	Options string
}

// Has reports whether the row has an option, such as bar=0.
func (r *Row) Has(option string) bool {
	return slices.Contains(strings.Fields(r.Options), option)
}

// SlowWidth is the channel width of slow stations in MHz.
func (r *Row) SlowWidth() int {
	if r.Has("slowWidth=40") {
		return 40
	}
	return 20
}

// Seeds is how many runs here the means are to be taken over: more where chance decides more.
func (r *Row) Seeds() int {
	switch {
	case r.Direction == "down" || r.N+r.Slow == 1:
		return 2
	case r.N > 0 && r.Slow > 0:
		return 40
	}
	return 6
}

// Name is the row's name in the experiments of TCP, where it is unique.
func (r *Row) Name() string {
	whole := func(mbps float64) string { return fmt.Sprint(int(mbps)) }
	parts := []string{r.PHY, whole(r.RateMbps), fmt.Sprint("n", r.N)}
	if r.Slow > 0 {
		parts = append(parts, fmt.Sprintf("%dx%s", r.Slow, whole(r.SlowMbps)))
	}
	if r.AMPDU == 0 {
		parts = append(parts, "noagg")
	}
	if r.WireMbps != 1000 {
		parts = append(parts, fmt.Sprint("wire", r.WireMbps))
	}
	if kind, ok := strings.CutPrefix(r.Case, "S-"); ok {
		parts = append(parts, strings.ToLower(strings.ReplaceAll(kind, "-", "_")))
		if strings.HasPrefix(kind, "apfifo") {
			parts = append(parts, fmt.Sprint(r.APLimit))
		}
	}
	return strings.Join(append(parts, r.Direction, r.Protocol), "_")
}

func (r *Row) String() string {
	return fmt.Sprintf("%s %s %g n%d+%d %s wire %d %s", r.Case, r.PHY, r.RateMbps, r.N, r.Slow, r.Direction,
		r.WireMbps, r.Options)
}

// Rows are those of the protocols, all of them when none is given.
func Rows(protocols ...string) []Row {
	lines, err := csv.NewReader(strings.NewReader(figures)).ReadAll()
	if err != nil {
		panic(err) // embedded
	}
	column := map[string]int{}
	for i, name := range lines[0] {
		column[name] = i
	}
	var rows []Row
	for _, line := range lines[1:] {
		text := func(name string) string { return line[column[name]] }
		number := func(name string) float64 { return parsed(text(name)) }
		whole := func(name string) int { return int(number(name)) }
		r := Row{
			Case: text("case"), PHY: text("phy"), RateMbps: number("rate_mbps"), N: whole("n"), Slow: whole("n_slow"),
			SlowMbps: number("slow_rate_mbps"), Streams: whole("nss"), Direction: text("dir"), Protocol: text("proto"),
			AMPDU: whole("ampdu_max"), WireMbps: whole("wired_mbps"), APLimit: whole("ap_fifo_pkts"),
			Runs:    whole("runs"),
			Goodput: number("goodput_mbps"), Range: [2]float64{number("goodput_min"), number("goodput_max")},
			Backlog: number("apq_mean"), RTTMs: number("tcp_rtt_mean_ms"),
			FramesSta: number("mpdu_per_ppdu_sta"), FramesAP: number("mpdu_per_ppdu_ap"),
			CollidedSta: number("coll_sta"), AirSta: number("air_sta"), AirAP: number("air_ap"),
			Options: text("options"),
		}
		for _, v := range strings.Split(text("per_sta_mbps"), ";") {
			r.Stations = append(r.Stations, parsed(v))
		}
		if len(protocols) == 0 || slices.Contains(protocols, r.Protocol) {
			rows = append(rows, r)
		}
	}
	return rows
}

func parsed(number string) float64 {
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		panic(err) // embedded
	}
	return v
}
