package cause

// healthy are transfers with nothing wrong: they reach the capacity of the path.
func healthy(d draw) []Situation {
	p := d.pipe()
	long := p
	long.bps = 10e6
	long.rtt *= 2
	return []Situation{
		{
			Name: "capacity-cubic", Limits: []string{"capacity"}, Receiver: elsewhere,
			Cell: p.cell(d.between(0.6, 1), ""), Plan: Plan{For: length, Pace: bulk},
		},
		{
			Name: "capacity-reno", Limits: []string{"capacity"}, Receiver: elsewhere,
			Cell: p.cell(1, ""), Plan: Plan{For: length, Pace: bulk, Congestion: "reno"},
		},
		{
			Name: "capacity-bbr", Limits: []string{"capacity"}, Receiver: elsewhere,
			Cell: p.cell(d.between(0.8, 2), ""), Plan: Plan{For: length, Pace: bulk, Congestion: "bbr"},
		},
		{
			Name: "download", Limits: []string{"capacity"}, Receiver: elsewhere,
			Cell: p.cell(1, ""), Plan: Plan{For: length, Pace: bulk, Down: true},
		},
		{
			Name: "capacity-long", Limits: []string{"capacity"}, Receiver: elsewhere,
			Cell: long.cell(1, ""), Plan: Plan{For: length, Pace: bulk},
		},
		{
			Name: "capacity-two", Limits: []string{"capacity|shared capacity"}, Receiver: lossy,
			Cell: p.cell(1, ""), Plan: Plan{For: length, Pace: bulk, Parallel: 2},
		},
		{
			Name: "capacity-wifi", Limits: []string{"own queue|network queue|capacity|shared capacity"},
			Receiver: elsewhere, Cell: wireless(65, 100, p.rtt, ""), Plan: Plan{For: length, Pace: bulk},
		},
	}
}
