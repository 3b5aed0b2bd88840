package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"airtide/internal/cell/medium"
)

// checker checks that a decoded experiment can run. The tree gives the positions of problems in the
// file.
type checker struct {
	tree     *node
	problems *Problems
	e        *Experiment
	machines directory
	// parameters of the sweep.
	parameters []Parameter
	// cellAlone is true for a cell without flows.
	cellAlone bool
}

// problem adds a problem at a path, or at the longest existing part of that path.
func (c *checker) problem(path, found, expected string) {
	at, _ := c.tree.find(path)
	c.problems.add(Problem{at.Position, path, found, expected})
}

// found quotes the value at a path.
func (c *checker) found(path string) string {
	n, ok := c.tree.find(path)
	if !ok {
		return "nothing"
	}
	return n.describe()
}

func (c *checker) has(path string) bool {
	_, ok := c.tree.find(path)
	return ok
}

// Bounds of an experiment.
const (
	maxRepeats   = 1000
	maxTerminals = 250
	maxFlows     = 1000
	// maxMachineName leaves space for the number in a group, because an interface's name has at
	// most 15 letters.
	maxMachineName = 12
	minDuration    = Duration(100e6)
)

// general checks the part that is equal at all points.
func (c *checker) general() {
	c.header()
	for _, f := range c.e.Figures {
		c.figure("figures."+f.Name, f.Value)
	}
}

// point checks the conditions of a point, and what measurements and figures need of them.
func (c *checker) point() {
	c.times()
	c.names()
	for _, cc := range c.e.CongestionControls {
		c.congestionControl(cc.Name, cc.Value)
	}
	for _, t := range c.e.Terminals {
		c.terminal("terminals."+t.Name, t.Value)
	}
	for _, s := range c.e.Servers {
		c.stack("servers."+s.Name, s.Value.Stack)
	}
	c.cell()
	c.path()
	for _, f := range c.e.Flows {
		c.flow("flows."+f.Name, f.Value)
	}
	c.references("record.tcp", c.e.Record.TCP)
	c.references("record.packets", c.e.Record.Packets)
	for _, m := range c.e.Measure {
		c.measurement("measure."+m.Name, m.Value)
	}
	for _, f := range c.e.Figures {
		c.figureFlows("figures."+f.Name, f.Value)
	}
}

func (c *checker) header() {
	e := c.e
	if !experimentName.MatchString(e.Name) {
		c.problem("name", c.found("name"), "up to 64 of a-z, 0-9, '.', '_' and '-', the first a letter or digit")
	}
	if e.Repeats < 1 || e.Repeats > maxRepeats {
		c.problem("repeats", c.found("repeats"), fmt.Sprintf("1 to %d", maxRepeats))
	}
	if e.AtOnce < 0 || e.AtOnce > MaxAtOnce {
		c.problem("at_once", c.found("at_once"), fmt.Sprintf("1 to %d", MaxAtOnce))
	}
	if len(e.Seeds) > 0 && (c.has("repeats") || c.has("seed")) {
		c.problem("seeds", "seeds besides repeats or seed", "either of them")
	}
	for i, s := range e.Seeds {
		if slices.Contains(e.Seeds[:i], s) {
			c.problem(fmt.Sprintf("seeds.%d", i), fmt.Sprintf("the seed %d a second time", s), "each once")
		}
	}
}

func (c *checker) times() {
	if c.e.Duration < minDuration {
		c.problem("duration", c.e.Duration.String(), fmt.Sprintf("at least %s", minDuration))
	}
	if c.e.Warmup >= c.e.Duration {
		c.problem("warmup", c.e.Warmup.String(), fmt.Sprintf("less than the duration, %s", c.e.Duration))
	}
}

// names checks that machines have unique names, and flows too.
func (c *checker) names() {
	if len(c.e.Terminals) == 0 {
		c.problem("terminals", "no terminal", "one at least")
	}
	if len(c.e.Flows) == 0 && !c.cellAlone {
		c.problem("flows", "no flow", "one at least")
	}
	if len(c.machines.terminals) > maxTerminals {
		c.problem("terminals", fmt.Sprintf("more than %d terminals", maxTerminals), "fewer")
	}
	owner := map[string]string{allTerminals: "the word for all terminals", allMachines: "the word for all machines"}
	claim := func(path, name, what string) {
		if o, taken := owner[name]; taken {
			c.problem(path, fmt.Sprintf("the name %q, which is %s", name, o), "unique names")
		}
		owner[name] = what
	}
	for _, name := range slices.Concat(c.e.Terminals.Names(), c.e.Servers.Names()) {
		if len(name) > maxMachineName {
			c.problem("terminals", fmt.Sprintf("a machine named %q", name),
				fmt.Sprintf("at most %d letters: network interfaces are named after it", maxMachineName))
		}
	}
	for _, t := range c.e.Terminals {
		path := "terminals." + t.Name
		if t.Value.Count < 0 || t.Value.Count == 0 && c.has(path+".count") {
			c.problem(path+".count", c.found(path+".count"), "1 or more")
			continue
		}
		claim(path, t.Name, "a terminal or group")
		for _, m := range members(t.Name, t.Value) {
			if m != t.Name {
				claim(path, m, "a terminal of "+t.Name)
			}
		}
	}
	for _, s := range c.e.Servers {
		claim("servers."+s.Name, s.Name, "a server")
	}
}

func (c *checker) terminal(path string, t Terminal) {
	c.stack(path, t.Stack)
	c.sharing(path+".share", t.Share)
	c.guest(path, t)
	if t.Link == Ethernet {
		if c.has(path + ".radio") {
			c.problem(path+".radio", "a radio for a terminal on Ethernet", "none, or link: wlan")
		}
		if t.Share.KnowsPHY {
			c.problem(path+".share.knows_phy", "a PHY rate of a terminal on Ethernet", "false, or link: wlan")
		}
		return
	}
	c.radio(path+".radio", t.Radio)
}

func (c *checker) radio(path string, r Radio) {
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
	c.rate(path+".phy_rate", r, r.PHYRate)
	before := Duration(0)
	for i, s := range r.Schedule {
		at := fmt.Sprintf("%s.schedule.%d", path, i)
		c.rate(at+".phy_rate", r, s.PHYRate)
		c.time(at+".at", s.At, &before)
	}
	if r.Queue.Packets == 0 {
		c.problem(path+".queue", c.found(path+".queue"), "a limit in packets, as WLAN drivers have it")
	}
	if r.FrameErrors == 1 {
		c.problem(path+".frame_errors", c.found(path+".frame_errors"), "less than 1: nothing would ever arrive")
	}
	c.aggregation(path+".aggregation", r.Aggregation, facts)
	c.access(path+".access", r.Access)
	if r.ShortPreamble && r.Standard != "b" {
		c.problem(path+".short_preamble", "a short preamble for 802.11"+string(r.Standard),
			"none: only 802.11b has two")
	}
}

// access checks the values that the medium would refuse, with a message for each window.
func (c *checker) access(path string, a Access) {
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

func (c *checker) rate(path string, r Radio, rate Rate) {
	p, err := r.phy(rate)
	switch {
	case err != nil:
		c.problem(path, c.found(path), err.Error())
	case c.e.band() == Band24 && p.WidthMHz > 40:
		c.problem(path, fmt.Sprintf("a rate that needs %d MHz", p.WidthMHz), "one of at most 40 MHz at 2.4 GHz")
	}
}

func (c *checker) aggregation(path string, a Aggregation, s standard) {
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

var (
	congestionName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,14}$`)
	sysctlName     = regexp.MustCompile(`^-?net(\.[a-zA-Z0-9_-]+)+$`)
)

// sysctlFields maps sysctls to the fields that set them.
var sysctlFields = map[string]string{
	"net.ipv4.tcp_rmem":               "receive_buffer",
	"net.ipv4.tcp_wmem":               "send_buffer",
	"net.ipv4.tcp_congestion_control": "congestion",
}

// OptionalSysctl returns the name of a sysctl without a leading "-". As in sysctl.d(5), this mark
// permits a kernel without the sysctl.
func OptionalSysctl(name string) (plain string, optional bool) { return strings.CutPrefix(name, "-") }

func (c *checker) stack(path string, s Stack) {
	c.congestion(path+".congestion", s.Congestion)
	for name, b := range map[string]Buffer{"receive_buffer": s.ReceiveBuffer, "send_buffer": s.SendBuffer} {
		if b != (Buffer{}) && (b.Min <= 0 || b.Min > b.Default || b.Default > b.Max || b.Max > 1<<31-1) {
			c.problem(path+"."+name, fmt.Sprintf("%d, %d, %d B", b.Min, b.Default, b.Max),
				"min, default and max, none less than the one before it, of at most 2 GiB")
		}
	}
	if s.InitialWindow < 0 || s.InitialWindow > 1000 {
		c.problem(path+".initial_window", c.found(path+".initial_window"), "1 to 1000 segments")
	}
	for name, value := range s.Sysctls {
		// These names contain dots, so they have no path of their own.
		plain, optional := OptionalSysctl(name)
		_, both := s.Sysctls[plain]
		switch field := sysctlFields[plain]; {
		case !sysctlName.MatchString(name):
			c.problem(path+".sysctls", fmt.Sprintf("the sysctl %q", name),
				"one of a network namespace, such as net.ipv4.tcp_sack")
		case field != "":
			c.problem(path+".sysctls", name, "the field "+field+", which stands for it")
		case optional && both:
			c.problem(path+".sysctls", name+" besides "+plain, "one of them")
		case strings.ContainsAny(value, "\n\x00") || value == "":
			c.problem(path+".sysctls", fmt.Sprintf("%s = %q", name, value), "a value in one line")
		}
	}
}

func (c *checker) cell() {
	cell := c.e.Cell
	if cell.RetryLimit < 1 || cell.RetryLimit > 255 {
		c.problem("cell.retry_limit", c.found("cell.retry_limit"), "1 to 255")
	}
	if cell.TXOPLimit > maxPPDU*6 {
		c.problem("cell.txop_limit", cell.TXOPLimit.String(),
			"some milliseconds at most (802.11's field ends at 32 ms)")
	}
	if cell.ShortestSleep > Duration(time.Millisecond) {
		c.problem("cell.shortest_sleep", cell.ShortestSleep.String(), "1 ms at most")
	}
	for i, r := range cell.BasicRates {
		c.ofBOrG(fmt.Sprintf("cell.basic_rates.%d", i), r)
	}
	c.beacons(cell.Beacons)
	c.access("cell.ap.access", cell.AP.Access)
	// The access point uses the standard of each terminal; ax has the widest bounds.
	c.aggregation("cell.ap.aggregation", cell.AP.Aggregation, Standard("ax").facts())
}

func (c *checker) ofBOrG(path string, r Rate) {
	if !slices.Contains(mbps, float64(r)/1e6) {
		c.problem(path, c.found(path), "a rate of 802.11b or g")
	}
}

func (c *checker) beacons(b Beacons) {
	if b == (Beacons{}) {
		return
	}
	if b.Every < Duration(time.Millisecond) || b.Every > Duration(100*time.Second) {
		c.problem("cell.beacons.every", b.Every.String(), "1 ms to 100 s, such as 102.4 ms")
	}
	if b.Size > 2304 {
		c.problem("cell.beacons.size", c.found("cell.beacons.size"), "2304 B at most")
	}
	if b.Rate == 0 {
		return
	}
	if c.e.band() != Band5 {
		c.ofBOrG("cell.beacons.rate", b.Rate)
	} else if _, err := medium.Legacy(medium.Std11a, float64(b.Rate)/1e6); err != nil {
		c.problem("cell.beacons.rate", c.found("cell.beacons.rate"), "a rate of 802.11a, 6 Mbit/s and more, at 5 GHz")
	}
}

func (c *checker) time(path string, at Duration, before *Duration) {
	if at < *before {
		c.problem(path, at.String(), fmt.Sprintf("times in order: the one before is %s", *before))
	}
	if at >= c.e.Duration {
		c.problem(path, at.String(), fmt.Sprintf("less than the duration, %s", c.e.Duration))
	}
	*before = at
}

// references checks that names refer to machines.
func (c *checker) references(path string, names Names) bool {
	ok := true
	for i, n := range names {
		if _, known := c.machines.groups[n]; !known {
			ok = false
			c.problem(c.item(path, i), fmt.Sprintf("%q", n), oneOf(n, c.known()))
		}
	}
	return ok
}

// item returns the path of a name in a list that may be a single name.
func (c *checker) item(path string, i int) string {
	if n, ok := c.tree.find(path); ok && n.kind == sequence {
		return fmt.Sprintf("%s.%d", path, i)
	}
	return path
}

// known returns the names that a file can refer to: its own names, without the members of groups.
func (c *checker) known() []string {
	return slices.Concat(c.e.Terminals.Names(), c.e.Servers.Names(), []string{allTerminals, allMachines})
}
