package cause

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Suite returns situations with parameters of a seed: single causes, causes that change, and
// transfers with nothing wrong.
func Suite(seed uint64) []Situation {
	d := draw{rand.New(rand.NewPCG(seed, 42))}
	var all []Situation
	for _, f := range []struct {
		kind Kind
		draw func(draw) []Situation
	}{
		{Single, programs},
		{Single, buffers},
		{Single, bounds},
		{Single, networks},
		{Single, radios},
		{Single, others},
		{Healthy, healthy},
		{Mixture, mixtures},
		{Change, changes},
		{Change, pathChanges},
		{Sweep, sweeps},
		{"", airs}, // the last, so that the parameters of the others stay
	} {
		for _, s := range f.draw(d) {
			if f.kind != "" {
				s.Kind = f.kind
			}
			s.Seed = seed
			all = append(all, s)
		}
	}
	return all
}

// draw draws parameters.
type draw struct{ *rand.Rand }

// between draws a number from a range, evenly by its logarithm's first order: small values are as
// likely as large ones.
func (d draw) between(low, high float64) float64 {
	x := d.Float64()
	return low * (1 - x + x*high/low)
}

// pipe is a drawn path: rate in bit/s and RTT. Half of the paths have noise: a delay that varies.
type pipe struct {
	bps    float64
	rtt    time.Duration
	jitter time.Duration
}

func (d draw) pipe() pipe {
	p := pipe{
		bps: []float64{10e6, 20e6, 50e6}[d.IntN(3)],
		rtt: time.Duration(d.between(20, 90)) * time.Millisecond,
	}
	if d.IntN(2) == 0 {
		p.jitter = time.Duration(d.between(200, 1500)) * time.Microsecond
	}
	return p
}

// bdp is the product of rate and RTT in bytes.
func (p pipe) bdp() float64 { return p.bps / 8 * p.rtt.Seconds() }

// wide is a path on which a send buffer of a few segments is small.
func (p pipe) wide() pipe {
	p.bps = max(p.bps, 20e6)
	p.rtt = max(p.rtt, 40*time.Millisecond)
	return p
}

// sendBuffer is the SO_SNDBUF that holds a share of the path's product. The kernel doubles it,
// and a segment takes about 1.6 times its size.
func (p pipe) sendBuffer(part float64) int { return max(8<<10, int(part*p.bdp()*1.6/2)) }

// small writes keep to the send buffer: the kernel takes a write of up to 64 kB as one piece.
var small = Pace{WriteBytes: 2 << 10}

// cell is the path with a queue of a share of its product, and more fields.
func (p pipe) cell(queue float64, more string) string {
	if p.jitter > 0 {
		more = fmt.Sprintf(", jitter: %d us", p.jitter.Microseconds()) + more
	}
	return wire(fmt.Sprintf("rate: %.0f kbit/s, rtt: %d ms, queue: %.0f kB%s", p.bps/1e3, p.rtt.Milliseconds(),
		max(20, queue*p.bdp()/1e3), more))
}

// Answers at the receiver of a limit that it does not see.
var (
	elsewhere = []string{"sender or network"}
	lossy     = []string{"gaps|sender or network"}
	pausing   = []string{"no data came|sender or network"}
)

// programs are limits of the sending program.
func programs(d draw) []Situation {
	p := d.pipe()
	every := time.Duration(d.between(5, 60)) * time.Millisecond
	slow := int(d.between(0.05, 0.4) * p.bps / 8 * every.Seconds())
	period := time.Duration(d.between(250, 600)) * time.Millisecond
	burst := int(d.between(0.1, 0.3) * p.bps / 8 * period.Seconds())
	request := int(d.between(100, 1400))
	return []Situation{
		{
			Name: "application", Limits: []string{"application"}, Receiver: elsewhere, Cell: p.cell(1, ""),
			Plan: Plan{For: length, Pace: Pace{WriteBytes: max(slow, 100), Every: every}},
		},
		{
			Name: "bursts", Limits: []string{"application"}, Receiver: pausing, Cell: p.cell(1, ""),
			Plan: Plan{For: length, Pace: Pace{WriteBytes: burst, Every: period}},
		},
		{
			Name: "idle", Limits: []string{"idle"}, Receiver: []string{"no data came|idle"}, Cell: p.cell(1, ""),
			Plan: Plan{For: length},
		},
		{
			Name: "request-answer", Limits: []string{"round trips"}, Receiver: []string{"round trips"}, Cell: p.cell(1,
				""),
			Plan: Plan{For: length, Requests: []int{request}, Answer: request},
		},
		{
			Name: "nagle", Limits: []string{"Nagle"}, Cell: p.cell(1, ""),
			Plan: Plan{For: length, Requests: []int{request / 3, request / 3}, Answer: 200, Nagle: true},
		},
		{
			Name: "short", Limits: []string{"round trips|handshake"}, Cell: p.cell(1, ""),
			Plan: Plan{For: length, Connections: 40, Size: request},
		},
		{
			Name: "slow-start", Limits: []string{"slow start"},
			Cell: wire("rate: 100 Mbit/s, rtt: 120 ms, queue: 1500 kB"),
			Plan: Plan{For: length, Connections: 1, Size: int(d.between(100e3, 300e3))},
		},
	}
}

// buffers are limits of both ends' buffers and of the reader.
func buffers(d draw) []Situation {
	p := d.pipe()
	w := p.wide()
	part := d.between(0.1, 0.5)
	buffer := int(part * p.bdp())
	// The clamp chooses the window's scale, and the kernel grows a window to twice 65535 and more.
	long := pipe{bps: 50e6, rtt: 40*time.Millisecond + p.rtt}
	// A bounded receive buffer fills at once.
	most := max(64<<10, int(2*p.bdp()))
	reading := Pace{WriteBytes: 64 << 10, ReadBps: int64(part * p.bps)}
	window := []string{"receive window"}
	reads := []string{"receiving application"}
	return []Situation{
		{
			Name: "receive-buffer", Limits: window, Receiver: window, Cell: p.cell(1, ""),
			Plan: Plan{For: length, Pace: bulk, ReceiveBuffer: max(4<<10, buffer)},
		},
		{
			Name: "window-clamp", Limits: window, Receiver: window, Cell: long.cell(1, ""),
			Plan: Plan{For: length, Pace: bulk, WindowClamp: max(4<<10, buffer)},
		},
		{
			Name: "slow-reader", Limits: reads, Receiver: reads, Cell: p.cell(1, ""),
			Plan: Plan{For: length, Pace: reading, ReceiveBuffer: most},
		},
		{
			Name: "download-slow-reader", Limits: reads, Receiver: reads, Cell: p.cell(1, ""),
			Plan: Plan{For: length, Down: true, Pace: reading, ReceiveBuffer: most},
		},
		{
			Name: "send-buffer", Limits: []string{"send buffer"}, Receiver: elsewhere, Cell: w.cell(1, ""),
			Plan: Plan{For: length, Pace: small, SendBuffer: w.sendBuffer(part)},
		},
	}
}

// bounds are limits of the sending kernel and its device.
func bounds(d draw) []Situation {
	p := d.pipe()
	part := d.between(0.1, 0.6)
	return []Situation{
		{
			Name: "pacing", Limits: []string{"pacing"}, Receiver: elsewhere, Cell: p.cell(1, ""),
			Plan: Plan{For: length, Pace: bulk, PacingBps: int64(part * p.bps)},
		},
		{
			Name: "pacing-bbr", Limits: []string{"pacing"}, Receiver: elsewhere, Cell: p.cell(1, ""),
			Plan: Plan{For: length, Pace: bulk, PacingBps: int64(part * p.bps), Congestion: "bbr"},
		},
		{
			Name: "bounded-cwnd", Limits: []string{"bounded cwnd"}, Receiver: elsewhere, Cell: p.cell(1, ""),
			Tune: []string{"--cwnd-max", fmt.Sprint(max(4, int(part*p.bdp()/1448)))},
			Plan: Plan{For: length, Pace: bulk},
		},
		{
			Name: "own-queue", Limits: []string{"own queue"}, Receiver: elsewhere, Cell: p.cell(1, ""),
			Setup: fmt.Sprintf("tc qdisc replace dev eth0 root tbf rate %.0fkbit burst 16kb limit 2mb", part*p.bps/1e3),
			Plan:  Plan{For: length, Pace: bulk},
		},
		{
			Name: "refusing-device", Limits: []string{"own device"}, Receiver: []string{"gaps|sender or network"},
			Cell: wireless(65, 20+d.IntN(40), p.rtt, ", refuses: true"), Plan: Plan{For: length, Pace: bulk},
		},
	}
}

// networks are limits of the path.
func networks(d draw) []Situation {
	p := d.pipe()
	loss := d.between(0.5, 3)
	return []Situation{
		{
			Name: "random-loss", Limits: []string{"random loss"}, Receiver: lossy,
			Cell: p.cell(2, fmt.Sprintf(", up: {loss: %.2f %%}", loss)), Plan: Plan{For: length, Pace: bulk},
		},
		{
			Name: "shallow-queue", Limits: []string{"shallow queue"}, Receiver: lossy,
			Cell: wire(fmt.Sprintf("rate: 50 Mbit/s, rtt: %d ms, queue: %d packets", 40+p.rtt.Milliseconds(),
				8+d.IntN(10))),
			Plan: Plan{For: length, Pace: bulk},
		},
		{
			Name: "deep-queue", Limits: []string{"network queue"}, Receiver: elsewhere,
			Cell: wire(fmt.Sprintf("rate: %.0f Mbit/s, rtt: %d ms, queue: 1000 packets", d.between(5, 12),
				20+d.IntN(20))),
			Plan: Plan{For: length, Pace: bulk},
		},
		{
			Name: "shared", Limits: []string{"shared capacity"}, Receiver: lossy,
			Cell: shareable(p.cell(1, "")), Background: onOff, Plan: Plan{For: 2 * length, Pace: bulk},
		},
		{
			Name: "pauses", Limits: []string{"path pauses"}, Receiver: pausing,
			Cell: "duration: 60 s\n" + p.cell(3,
				fmt.Sprintf(", stalls: {every: 1 s, length: %.0f ms}", d.between(300, 500))),
			Plan: Plan{For: length, Pace: bulk},
		},
		{
			Name: "reordering", Limits: []string{"reordering"}, Receiver: lossy,
			Cell: p.cell(2, fmt.Sprintf(", up: {reorder: %.1f %%}", d.between(1, 5))), Plan: Plan{
				For:  length,
				Pace: bulk,
			},
		},
		{
			Name: "timeouts", Limits: []string{"timeouts"}, Receiver: []string{"gaps|no data came|sender or network"},
			Cell: p.cell(2, ", up: {burst_loss: {to_bad: 1 %, to_good: 8 %, loss_bad: 100 %}}"),
			Plan: Plan{For: length, Pace: bulk},
		},
	}
}

// onOff is a transfer of another terminal that begins and pauses again and again.
const onOff = `while :; do timeout 1 ip netns exec $OTHER $TRAFFIC client $ADDRESS ` +
	`'{"for":900000000,"write_bytes":65536}'; sleep 0.8; done`

// shareable adds a terminal to a cell.
func shareable(cell string) string {
	return "terminals: {client: {link: ethernet, congestion: cubic}, other: {link: ethernet, congestion: cubic}}\n" +
		cell[len("terminals: {client: {link: ethernet, congestion: cubic}}\n"):]
}

// radios are limits of a station's radio.
func radios(d draw) []Situation {
	return []Situation{{
		Name: "slow-radio", Limits: []string{"own queue|network queue|capacity"}, Receiver: elsewhere,
		Cell: wireless([]float64{6.5, 13, 19.5}[d.IntN(3)], 300, 20*time.Millisecond, ""),
		Plan: Plan{For: length, Pace: bulk},
	}}
}
