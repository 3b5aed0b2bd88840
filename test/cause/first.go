package cause

import "time"

// wire is an Ethernet terminal behind a wire.
func wire(path string) string {
	return "terminals: {client: {link: ethernet, congestion: cubic}}\n" +
		"servers: {server: {congestion: cubic}}\npath: {" + path + "}\n"
}

// plain is the wire of the first situations: the bottleneck is elsewhere.
const plain = "rate: 50 Mbit/s, rtt: 40 ms, queue: 256 kB"

// bulk writes as fast as possible.
var bulk = Pace{WriteBytes: 64 << 10}

const length = 6 * time.Second

// First are sixteen frequent situations, each with a single cause.
var First = []Situation{
	{
		Name: "application", Limits: []string{"application"}, Cell: wire(plain),
		Plan: Plan{For: length, Pace: Pace{WriteBytes: 5000, Every: 40 * time.Millisecond}},
	},
	{
		Name: "receive-buffer", Limits: []string{"receive window"}, Receiver: []string{"receive window"},
		Cell: wire(plain),
		Plan: Plan{For: length, Pace: bulk, ReceiveBuffer: 8 << 10},
	},
	{
		Name: "send-buffer", Limits: []string{"send buffer"}, Cell: wire(plain),
		Plan: Plan{For: length, Pace: bulk, SendBuffer: 16 << 10},
	},
	{
		Name: "deep-queue", Limits: []string{"network queue"},
		Cell: wire("rate: 10 Mbit/s, rtt: 20 ms, queue: 1000 packets"),
		Plan: Plan{For: length, Pace: bulk},
	},
	{
		Name: "own-queue", Limits: []string{"own queue"}, Cell: wire(plain),
		Setup: "tc qdisc replace dev eth0 root tbf rate 10mbit burst 16kb limit 2mb",
		Plan:  Plan{For: length, Pace: bulk},
	},
	{
		Name: "random-loss", Limits: []string{"random loss"},
		Cell: wire("rate: 50 Mbit/s, rtt: 40 ms, queue: 256 kB, up: {loss: 1 %}"),
		Plan: Plan{For: length, Pace: bulk},
	},
	{Name: "idle", Limits: []string{"idle"}, Cell: wire(plain), Plan: Plan{For: length}},
	{
		Name: "short", Limits: []string{"round trips|handshake"}, Cell: wire(plain),
		Plan: Plan{For: length, Connections: 96, Size: 2000},
	},
	{
		Name: "slow-reader", Limits: []string{"receiving application"}, Receiver: []string{"receiving application"},
		Cell: wire(plain), Plan: Plan{For: length, Pace: Pace{WriteBytes: 64 << 10, ReadBps: 4e6}},
	},
	{
		Name: "request-answer", Limits: []string{"round trips"}, Cell: wire(plain),
		Plan: Plan{For: length, Requests: []int{1000}, Answer: 1000},
	},
	{
		Name: "nagle", Limits: []string{"Nagle"}, Cell: wire(plain),
		Plan: Plan{For: length, Requests: []int{300, 300}, Answer: 200, Nagle: true},
	},
	{
		Name: "pacing", Limits: []string{"pacing"}, Cell: wire(plain),
		Plan: Plan{For: length, Pace: bulk, PacingBps: 5e6},
	},
	{
		Name: "bursts", Limits: []string{"application"}, Cell: wire(plain),
		Plan: Plan{For: length, Pace: Pace{WriteBytes: 64 << 10, Every: 200 * time.Millisecond}},
	},
	{
		Name: "download", Receiver: []string{"sender or network"}, Cell: wire(plain),
		Plan: Plan{For: length, Pace: bulk, Down: true},
	},
	{
		Name: "bbr", Limits: []string{"capacity"}, Cell: wire(plain),
		Plan: Plan{For: length, Pace: bulk, Congestion: "bbr"},
	},
	{
		Name: "refusing-device", Limits: []string{"own device"},
		Cell: "terminals: {client: {radio: {standard: n, phy_rate: 65 Mbit/s, queue: 50 packets, refuses: true}, " +
			"congestion: cubic}}\nservers: {server: {}}\npath: {rate: 1 Gbit/s, rtt: 40 ms}\n",
		Plan: Plan{For: length, Pace: bulk},
	},
}
