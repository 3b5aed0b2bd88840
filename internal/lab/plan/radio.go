package plan

import "fmt"

// Radio is a WLAN adapter.
type Radio struct {
	Standard      Standard    `json:"standard,omitzero" jsonschema:"IEEE 802.11b, g, a, n, ac or ax."`
	PHYRate       Rate        `json:"phy_rate,omitzero" jsonschema:"PHY rate in both directions, one of the standard's."`
	Width         int         `json:"width,omitzero" jsonschema:"Width of the channel in MHz, if the rate does not determine it."`
	Streams       int         `json:"streams,omitzero" jsonschema:"Number of spatial streams, if the rate does not determine it."`
	GuardInterval Duration    `json:"guard_interval,omitzero" jsonschema:"Guard interval: 400 ns or 800 ns (ax: 800, 1600 or 3200 ns), if the rate does not determine it."`
	Aggregation   Aggregation `json:"aggregation,omitzero" jsonschema:"Limits of the A-MPDUs."`
	Queue         Limit       `json:"queue,omitzero" jsonschema:"Limit of the transmit queue, in packets. Default 1000 packets."`
	FrameErrors   Share       `json:"frame_errors,omitzero" jsonschema:"Share of MPDUs that are lost on the air, in both directions. Default 0."`
	Refuses       bool        `json:"refuses,omitzero" jsonschema:"Whether the device refuses packets while its queue is full. TCP counts that as local congestion (code 2 of Matsuno et al. 2021). Default false: the sender is blocked."`
	Access        Access      `json:"access,omitzero" jsonschema:"Contention for the medium. Default: DCF for b, g and a, best effort from n on, with the standard's values."`
	ShortPreamble bool        `json:"short_preamble,omitzero" jsonschema:"802.11b: whether frames have the short preamble, except those at 1 Mbit/s. Default false."`
	Schedule      []RateStep  `json:"schedule,omitzero" jsonschema:"Changes of the PHY rate during a run."`
}

// Access holds the parameters of medium access (EDCA). A zero field means the value of the access
// category.
type Access struct {
	Category Category `json:"category,omitzero" jsonschema:"dcf, or an access category of EDCA: background, best_effort, video or voice. The TXOP limit of all of them is cell.txop_limit."`
	AIFSN    int      `json:"aifsn,omitzero" jsonschema:"Slots after SIFS before a back-off continues, 1 to 15."`
	CWMin    int      `json:"cw_min,omitzero" jsonschema:"Smallest contention window in slots: a power of two minus one, up to 32767."`
	CWMax    int      `json:"cw_max,omitzero" jsonschema:"Largest contention window in slots."`
}

// Category is the access category of a contender.
type Category string

// The categories.
const (
	DCF        Category = "dcf"
	Background Category = "background"
	BestEffort Category = "best_effort"
	Video      Category = "video"
	Voice      Category = "voice"
)

func (*Category) Choices() []string {
	return []string{string(DCF), string(Background), string(BestEffort), string(Video), string(Voice)}
}

// RateStep changes a PHY rate.
type RateStep struct {
	At      Duration `json:"at" jsonschema:"Time of the change, from the start of the run."`
	PHYRate Rate     `json:"phy_rate" jsonschema:"New PHY rate."`
}

// Aggregation limits an A-MPDU; the tightest limit applies. A zero field means the limit of the
// standard.
type Aggregation struct {
	Bytes   Size     `json:"bytes,omitzero" jsonschema:"Largest A-MPDU in bytes. Default: the standard's maximum, 65535 B for n, 1048575 B for ac, 6500631 B for ax."`
	Frames  int      `json:"frames,omitzero" jsonschema:"Largest number of MPDUs; 1 means no aggregation. Default: the standard's 64 (ax: 256)."`
	Airtime Duration `json:"airtime,omitzero" jsonschema:"Longest PPDU. Default: the standard's 5484 us."`
}

func (r Radio) check(c *checker, path string) {
	if r.Standard == "" {
		c.problem(path, "no 802.11 standard", "radio.standard here, in the profile or under cell, or link: ethernet")
		return
	}
	facts := r.Standard.facts()
	if band := c.e.band(); band == Band24 && !facts.at24 || band == Band5 && !facts.at5 {
		c.problem(path+".standard", "802.11"+string(r.Standard),
			fmt.Sprintf("a standard that exists at %s, the band of the cell (cell.band)", band))
		return
	}
	if r.PHYRate == 0 {
		c.problem(path, "no PHY rate", "radio.phy_rate, such as 54 Mbit/s")
		return
	}
	r.checkRate(c, path+".phy_rate", r.PHYRate)
	before := Duration(0)
	for i, s := range r.Schedule {
		at := fmt.Sprintf("%s.schedule.%d", path, i)
		r.checkRate(c, at+".phy_rate", s.PHYRate)
		c.time(at+".at", s.At, &before)
	}
	if r.Queue.Packets == 0 {
		c.problem(path+".queue", c.found(path+".queue"), "a limit in packets, as WLAN drivers have it")
	}
	if r.FrameErrors == 1 {
		c.problem(path+".frame_errors", c.found(path+".frame_errors"), "less than 1: nothing would ever arrive")
	}
	r.Aggregation.check(c, path+".aggregation", facts)
	r.Access.check(c, path+".access")
	if r.ShortPreamble && r.Standard != "b" {
		c.problem(path+".short_preamble", "a short preamble for 802.11"+string(r.Standard),
			"none: only 802.11b has two")
	}
}

// check checks the values that the medium would refuse, with a message for each window.
func (a Access) check(c *checker, path string) {
	if a.AIFSN < 0 || a.AIFSN > 15 || a.AIFSN == 0 && c.has(path+".aifsn") {
		c.problem(path+".aifsn", c.found(path+".aifsn"), "1 to 15")
	}
	for name, cw := range map[string]int{"cw_min": a.CWMin, "cw_max": a.CWMax} {
		if cw < 0 || cw > 32767 || cw&(cw+1) != 0 || cw == 0 && c.has(path+"."+name) {
			c.problem(path+"."+name, c.found(path+"."+name), "a power of two less one, 1 to 32767")
		}
	}
	if a.CWMin > a.CWMax && a.CWMax > 0 {
		c.problem(path+".cw_min", c.found(path+".cw_min"), fmt.Sprintf("at most cw_max, %d", a.CWMax))
	}
}

func (r Radio) checkRate(c *checker, path string, rate Rate) {
	p, err := r.phy(rate)
	switch {
	case err != nil:
		c.problem(path, c.found(path), err.Error())
	case c.e.band() == Band24 && p.WidthMHz > 40:
		c.problem(path, fmt.Sprintf("a rate that needs %d MHz", p.WidthMHz), "one of at most 40 MHz at 2.4 GHz")
	}
}

func (a Aggregation) check(c *checker, path string, s standard) {
	if s.frames == 0 {
		if a.Frames > 1 || a.Bytes > 0 || a.Airtime > 0 {
			c.problem(path, "aggregation", fmt.Sprintf("none: 802.11%s has no A-MPDU", s.name))
		}
		return
	}
	if a.Bytes > s.bytes {
		c.problem(path+".bytes", a.Bytes.String(), fmt.Sprintf("at most %d B, as 802.11%s has", s.bytes, s.name))
	}
	if a.Frames < 0 || a.Frames > s.frames {
		c.problem(path+".frames", c.found(path+".frames"), fmt.Sprintf("1 to %d, as 802.11%s has", s.frames, s.name))
	}
	if a.Airtime > maxPPDU {
		c.problem(path+".airtime", a.Airtime.String(), fmt.Sprintf("at most %s, a PPDU's longest time", maxPPDU))
	}
}
