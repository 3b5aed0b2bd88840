package cause

import "fmt"

// sweeps are the sweeps that publications on the diagnosis of TCP use. At both ends of a sweep a
// neighbouring cause is right, too.
func sweeps(d draw) []Situation {
	p := d.pipe()
	p.jitter = 0
	var all []Situation
	add := func(name string, limit, cell string, plan Plan) {
		plan.For = length
		for _, cc := range []string{"cubic", "bbr"} {
			plan.Congestion = cc
			all = append(all, Situation{
				Name: fmt.Sprintf("sweep-%s-%s", name, cc), Limits: []string{limit}, Cell: cell, Plan: plan,
			})
		}
	}
	full := "capacity|shared capacity|network queue"
	plain := p.cell(1, "")
	for _, part := range []float64{0.1, 0.25, 0.5, 1, 1.5} {
		limit := "receive window"
		if part >= 1 {
			limit += "|" + full
		}
		// The kernel advertises half of twice SO_RCVBUF.
		add(fmt.Sprintf("receive-buffer-%g", part), limit, plain, Plan{Pace: bulk, ReceiveBuffer: int(part * p.bdp())})
	}
	for _, part := range []float64{0.1, 0.25, 0.5, 0.75, 1} {
		limit := "receiving application"
		if part >= 1 {
			limit += "|" + full
		}
		pace := bulk
		pace.ReadBps = int64(part * p.bps)
		plan := Plan{Pace: pace, ReceiveBuffer: max(64<<10, int(2*p.bdp()))}
		add(fmt.Sprintf("reader-%g", part), limit, plain, plan)
	}
	for _, part := range []float64{0.1, 0.25, 0.5, 1, 1.5} {
		limit := "send buffer"
		if part >= 1 {
			limit += "|" + full
		}
		plan := Plan{Pace: small, SendBuffer: p.wide().sendBuffer(part)}
		add(fmt.Sprintf("send-buffer-%g", part), limit, p.wide().cell(1, ""), plan)
	}
	for _, loss := range []float64{1, 2, 5, 10} {
		cell := p.cell(2, fmt.Sprintf(", up: {loss: %g %%}", loss))
		plan := Plan{For: length, Pace: bulk, Congestion: "cubic"}
		limit := "random loss|timeouts"
		all = append(all, Situation{
			Name: fmt.Sprintf("sweep-loss-%g-cubic", loss), Limits: []string{limit}, Cell: cell, Plan: plan,
		})
	}
	for _, flows := range []int{1, 2, 4, 8, 16} {
		add(fmt.Sprintf("flows-%d", flows), full+"|shallow queue", plain, Plan{Pace: bulk, Parallel: flows})
	}
	request := int(d.between(300, 1200))
	for bits := range 8 {
		plan := Plan{
			For: length, Requests: []int{request}, Answer: 200, Nagle: bits&1 != 0, Cork: bits&2 != 0,
		}
		limit := "round trips"
		name := "one"
		if bits&4 != 0 {
			plan.Requests = []int{request / 3, request / 3}
			name = "two"
		}
		if plan.Nagle {
			name += "-nagle"
		}
		if plan.Cork {
			name += "-cork"
		}
		if plan.Cork || plan.Nagle && bits&4 != 0 {
			limit = "Nagle"
		}
		all = append(all, Situation{
			Name: "sweep-writes-" + name, Limits: []string{limit}, Cell: plain, Plan: plan,
		})
	}
	return all
}
