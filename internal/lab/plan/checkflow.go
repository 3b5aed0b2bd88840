package plan

import (
	"cmp"
	"fmt"
	"slices"
)

func (c *checker) path() {
	p := c.e.Path
	c.added("path", p.Added)
	c.oneWay("path.up", p.Up.OneWay)
	c.oneWay("path.down", p.Down.OneWay)
	c.stalls("path.stalls", p.Stalls)
	before := Duration(0)
	for i, s := range p.Schedule {
		at := fmt.Sprintf("path.schedule.%d", i)
		c.step(at, s.AddStep, s.Rate > 0, &before)
	}
	for _, t := range p.Terminals {
		path := "path.terminals." + t.Name
		if !slices.Contains(c.machines.groups[allTerminals], t.Name) &&
			!slices.Contains(c.e.Terminals.Names(), t.Name) {
			c.problem(path, fmt.Sprintf("%q", t.Name), oneOf(t.Name, c.e.Terminals.Names()))
			continue
		}
		c.added(path, t.Value.Added)
		c.oneWay(path+".up", t.Value.Up)
		c.oneWay(path+".down", t.Value.Down)
		before := Duration(0)
		for i, s := range t.Value.Schedule {
			c.step(fmt.Sprintf("%s.schedule.%d", path, i), s, false, &before)
		}
	}
}

func (c *checker) step(path string, s AddStep, changes bool, before *Duration) {
	c.time(path+".at", s.At, before)
	c.added(path, s.Added)
	c.oneWay(path+".up", s.Up)
	c.oneWay(path+".down", s.Down)
	if !changes && s.Added == (Added{}) && s.Up == (OneWay{}) && s.Down == (OneWay{}) {
		c.problem(path, "a time at which nothing changes", "what changes, such as rtt")
	}
}

func (c *checker) added(path string, a Added) {
	if a.RTT != nil && a.Delay != nil {
		c.problem(path+".rtt", "rtt besides delay", "one of them: rtt is the delay of both directions together")
	}
	c.oneWay(path, a.OneWay)
}

func (c *checker) oneWay(path string, o OneWay) {
	if b := o.BurstLoss; b != nil && (b.ToGood == 0 || b.ToBad == 0) {
		c.problem(path+".burst_loss", "a state without an exit", "to_bad and to_good above 0")
	}
	if o.Loss != nil && *o.Loss == 1 {
		c.problem(path+".loss", c.found(path+".loss"), "less than 1: nothing would ever arrive")
	}
}

func (c *checker) flow(path string, f Flow) {
	fromOK := c.references(path+".from", f.From)
	toOK := c.references(path+".to", f.To)
	if !fromOK || !toOK {
		return
	}
	from, to := c.machines.machines(f.From), c.machines.machines(f.To)
	switch n, m := len(from), len(to); {
	case n == 0 || m == 0:
		c.problem(path, "a flow without an end", "from and to")
		return
	case n != m && n != 1 && m != 1:
		c.problem(path+".to", fmt.Sprintf("%d machines for %d in from", m, n), "as many, or one")
		return
	}
	c.guestFlow(path, f)
	for _, one := range f.resolve("", c.machines) {
		if one.From == one.To {
			c.problem(path+".to", fmt.Sprintf("a flow from %s to itself", one.From), "two machines")
		}
		if slices.Contains(c.machines.servers, one.From) && slices.Contains(c.machines.servers, one.To) {
			c.problem(path+".to", fmt.Sprintf("a flow between the servers %s and %s", one.From, one.To),
				"a terminal at one end at least")
		}
		if one.Start >= f.Stop {
			c.problem(path, fmt.Sprintf("a start (with stagger) at %s and a stop at %s", one.Start, f.Stop),
				"a start before the stop")
			break
		}
	}
	if f.Stop > c.e.Duration {
		c.problem(path+".stop", f.Stop.String(), fmt.Sprintf("at most the duration, %s", c.e.Duration))
	}
	c.protocol(path, f)
	total := 0
	for _, other := range c.e.Flows {
		total += max(
			len(c.machines.machines(other.Value.From)), len(c.machines.machines(other.Value.To)),
		) * max(1, other.Value.Parallel)
	}
	if total > maxFlows {
		c.problem("flows", fmt.Sprintf("%d connections at once", total), fmt.Sprintf("at most %d", maxFlows))
	}
}

func (c *checker) protocol(path string, f Flow) {
	for _, name := range meaningless(f.Protocol) {
		if c.has(path + "." + name) {
			c.problem(path+"."+name, fmt.Sprintf("%s for %s", name, f.Protocol),
				"none: it means nothing for this protocol, which takes "+oneOf("", takes[f.Protocol]))
		}
	}
	if f.Protocol == UDP {
		switch {
		case f.Rate == 0:
			c.problem(path, "udp without a rate", "one, such as 30 Mbit/s: iperf3 sends as fast as it is told to")
		case f.Length < 16 || f.Length > 65507:
			c.problem(path+".length", f.Length.String(), "16 to 65507 B (1472 B fill an Ethernet frame)")
		}
	}
	if f.Protocol == Ping {
		if f.Length < 16 || f.Length > 65507 {
			c.problem(path+".length", f.Length.String(), "16 to 65507 B")
		}
		if f.Interval < Duration(2e6) {
			c.problem(path+".interval", f.Interval.String(), "at least 2 ms, as ping has it")
		}
	}
	if f.Parallel < 1 || f.Parallel > 128 {
		c.problem(path+".parallel", c.found(path+".parallel"), "1 to 128")
	}
	if f.Transfers < 0 {
		c.problem(path+".transfers", c.found(path+".transfers"), "0 (as many as there is time for) or more")
	}
	c.congestion(path+".congestion", f.Congestion)
}

func (c *checker) measurement(path string, m Measurement) {
	for i, name := range m.Flows {
		if !slices.Contains(c.e.Flows.Names(), name) {
			c.problem(c.item(path+".flows", i), fmt.Sprintf("%q", name), oneOf(name, c.e.Flows.Names()))
		}
	}
	for i, name := range m.Terminals {
		if !slices.Contains(c.machines.terminals, name) && !slices.Contains(c.e.Terminals.Names(), name) {
			c.problem(c.item(path+".terminals", i), fmt.Sprintf("%q", name), oneOf(name, c.e.Terminals.Names()))
		}
	}
	c.partOfRun(path, m)
	if m.Quantity.OfCell() {
		c.cellMeasurement(path, m)
		return
	}
	if len(m.Flows) > 0 && !m.Quantity.OfFlows() {
		c.problem(path+".flows", fmt.Sprintf("flows for %s", m.Quantity),
			"terminals: it is a figure of a terminal's radio")
		return
	}
	if !m.Quantity.OfFlows() {
		return
	}
	var measured []Item[Flow]
	for _, f := range c.e.Flows {
		if (len(m.Flows) == 0 || slices.Contains(m.Flows, f.Name)) && m.Quantity.Suits(f.Value.Protocol) {
			measured = append(measured, f)
		} else if slices.Contains(m.Flows, f.Name) {
			c.problem(path+".flows", fmt.Sprintf("%s of the flow %s", m.Quantity, f.Name),
				fmt.Sprintf("a quantity that %s has", f.Value.Protocol))
		}
	}
	if len(measured) == 0 {
		c.problem(path+".quantity", fmt.Sprintf("%s, which no flow has", m.Quantity),
			"a quantity of the flows' protocols")
	}
	c.maxima(path, m, measured)
	if slices.Contains(kernelQuantities, m.Quantity) {
		recorded := c.machines.machines(c.e.Record.TCP)
		for _, f := range measured {
			for _, sender := range f.Value.senders(c.machines) {
				if !slices.Contains(recorded, sender) {
					c.problem(path+".quantity",
						fmt.Sprintf("%s of %s, whose kernel is not recorded", m.Quantity, sender), "record.tcp with it")
				}
			}
		}
	}
}

// partOfRun checks the fields from and to.
func (c *checker) partOfRun(path string, m Measurement) {
	if m.From == 0 && m.To == 0 {
		return
	}
	from, to := cmp.Or(m.From, c.e.Warmup), cmp.Or(m.To, c.e.Duration)
	switch {
	case !slices.Contains(ofGoodput, m.Quantity):
		c.problem(path, fmt.Sprintf("%s of a part of a run", m.Quantity),
			"goodput or what follows from it: others are of the whole time from the warm-up on")
	case to > c.e.Duration:
		c.problem(path+".to", to.String(), fmt.Sprintf("at most the duration, %s", c.e.Duration))
	case from >= to:
		c.problem(path, fmt.Sprintf("a part from %s to %s", from, to), "an end after its start")
	}
}

// cellMeasurement checks a measurement of the whole cell.
func (c *checker) cellMeasurement(path string, m Measurement) {
	for name, given := range map[string]bool{"flows": len(m.Flows) > 0, "terminals": len(m.Terminals) > 0} {
		if given {
			c.problem(path+"."+name, fmt.Sprintf("%s for %s", name, m.Quantity),
				"none: it is a figure of the whole cell")
		}
	}
	if m.Quantity != "distance" {
		return
	}
	flows := slices.DeleteFunc(slices.Clone(c.e.Flows), func(f Item[Flow]) bool {
		return !Quantity("goodput").Suits(f.Value.Protocol)
	})
	if len(flows) == 0 {
		c.problem(path+".quantity", "distance, without goodput", "a flow that has goodput")
	}
	c.maxima(path, m, flows)
}

// maxima checks that the rate of each terminal alone is known.
func (c *checker) maxima(path string, m Measurement, flows []Item[Flow]) {
	if !slices.Contains(overMax, m.Quantity) {
		return
	}
	for _, t := range c.e.Terminals {
		takesPart := slices.ContainsFunc(flows, func(f Item[Flow]) bool {
			return slices.ContainsFunc(slices.Concat(
				c.machines.machines(f.Value.From), c.machines.machines(f.Value.To),
			), func(machine string) bool {
				return slices.Contains(c.machines.groups[t.Name], machine)
			})
		})
		if takesPart && t.Value.Share.MaxRate == 0 {
			c.problem(
				path+".quantity",
				fmt.Sprintf("%s of %s, whose rate alone is unknown", m.Quantity, t.Name),
				"share.max_rate of it",
			)
		}
	}
}
