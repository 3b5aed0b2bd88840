package setup

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"airtide/experiments"
	"airtide/internal/cell"
	"airtide/internal/cell/engine"
	"airtide/internal/cell/medium"
	"airtide/internal/cell/path"
	"airtide/internal/cell/queue"
	"airtide/internal/lab/plan"
)

func TestEveryPointOfTheExperimentsIsACell(t *testing.T) {
	files := experiments.Names()
	if len(files) == 0 {
		t.Fatalf("found %v", files)
	}
	for _, name := range files {
		data, err := experiments.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Read(t.Context(), name, data)
		if err != nil {
			t.Fatal(err)
		}
		for _, point := range p.Points {
			c := CellConfig(point.Setup, nil, 1)
			if _, err := cell.NewWorld(c, engine.Callbacks{}); err != nil {
				t.Errorf("%s %s: %v", name, point.ID, err)
			}
		}
		if f, err := plan.ReadCell(name, data); err != nil {
			t.Errorf("%s as a cell alone: %v", name, err)
		} else if first := CellConfig(
			p.Points[0].Setup, nil, f.Seed,
		); len(FromFile(f).Terminals) != len(first.Terminals) {
			t.Errorf("%s as a cell alone has other terminals", name)
		}
	}
}

const everything = `
name: everything
seed: 7
terminals:
  phone:
    count: 2
    radio: {standard: ac, phy_rate: 866.7 Mbit/s, queue: 300 packets, frame_errors: 2 %,
      aggregation: {frames: 32, bytes: 100 kB, airtime: 2 ms}, schedule: [{at: 3 s, phy_rate: 433.3 Mbit/s}]}
  old: {radio: {standard: a, phy_rate: 54 Mbit/s, refuses: true,
    access: {category: video, aifsn: 4, cw_min: 3, cw_max: 63}}}
  desk: {link: ethernet}
  machine:
    radio: {standard: ac, phy_rate: 433.3 Mbit/s}
    outside: {interface: tap7, addresses: [192.168.7.0/24, "fd07::2"], gateway: 192.168.7.1}
servers: {near: {}, far: {outside: {interface: eth9, addresses: 192.0.2.1, via: 198.51.100.1}}}
cell:
  retry_limit: 5
  basic_rates: [6 Mbit/s, 5.5 Mbit/s]
  beacons: {every: 102.4 ms, size: 300 B, rate: 6 Mbit/s}
  txop_limit: 2 ms
  block_ack_request: true
  eifs_after_collision: true
  super_packets: senders
  ap: {discipline: airtime_fair, access: {category: voice}, queue: 200 packets, ack_thinning: true,
    window_sharing: true, aggregation: {frames: 1}}
path:
  rate: 100 Mbit/s
  queue: 50 kB
  rtt: 20 ms
  jitter: 2 ms
  jitter_distribution: normal
  loss: 1 %
  up: {rate: 10 Mbit/s, burst_loss: {to_bad: 1 %, to_good: 20 %, loss_bad: 50 %, loss_good: 0.1 %}}
  terminals: {desk: {down: {delay: 3 ms, reorder: 4 %, duplicate: 5 %}}}
  schedule: [{at: 10 s, rate: 50 Mbit/s}, {at: 20 s, rtt: 40 ms}]
`

func TestNothingOfAFileIsLostOnTheWayToTheCell(t *testing.T) {
	f, err := plan.ReadCell("cell.yaml", []byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	c := FromFile(f)
	phy := func(mbps float64) medium.PHY {
		p, err := medium.AtRate(medium.Std11ac, 0, 0, mbps)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	jitter := path.Jitter{Ns: 2e6, Distribution: path.Normal}
	loss := path.Loss{Random: 0.01}
	burst := path.Loss{Random: 0.01, Gilbert: path.GilbertElliott{P: 0.01, R: 0.2, LossBad: 0.5, LossGood: 0.001}}
	addresses := []netip.Prefix{netip.MustParsePrefix("192.168.7.0/24"), netip.MustParsePrefix("fd07::2/128")}
	limit := queue.Limit{Bytes: 50_000}
	for _, v := range []struct {
		what      string
		got, want any
	}{
		{"seed", c.Seed, uint64(7)},
		{
			"medium",
			[]any{c.Band, c.RetryLimit, c.TXOPNs, c.BlockAckRequest, c.EIFSAfterCollision},
			[]any{medium.Band5GHz, 5, int64(2e6), true, true},
		},
		{"engine", c.Engine, cell.EngineOptions{Supers: true}},
		{"access point", c.AP, cell.AccessPoint{
			Discipline: cell.AirtimeFair, Limit: queue.Limit{Packets: 200},
			Aggregation: cell.Aggregation{Frames: 1}, AckThinning: true, WindowSharing: true,
			Access: cell.Access{Category: medium.Voice},
		}},
		{"basic rates", c.BasicRatesKbps, []int{6000, 5500}},
		{"beacons", c.Beacons, medium.Beacons{IntervalNs: 102_400_000, Bytes: 300, Kbps: 6000}},
		{
			"access",
			[]cell.Access{c.Terminals[0].Radio.Access, c.Terminals[2].Radio.Access},
			[]cell.Access{{}, {Category: medium.Video, AIFSN: 4, CWMin: 3, CWMax: 63}},
		},
		{
			"names",
			[]string{c.Terminals[0].Name, c.Terminals[1].Name, c.Terminals[2].Name, c.Servers[1].Name},
			[]string{"phone1", "phone2", "old", "far"},
		},
		{"radio", *c.Terminals[1].Radio, cell.Radio{
			PHY:         []cell.PHYStep{{AtNs: 0, PHY: phy(866.7)}, {AtNs: 3e9, PHY: phy(433.3)}},
			Aggregation: cell.Aggregation{Frames: 32, Bytes: 100_000, AirtimeNs: 2e6}, QueuePackets: 300,
			FrameErrors: 0.02,
		}},
		{"radio without aggregation", c.Terminals[2].Radio.Aggregation, cell.Aggregation{Frames: 1}},
		{"full queues", []bool{c.Terminals[0].Refuse, c.Terminals[2].Refuse}, []bool{false, true}},
		{"Ethernet", c.Terminals[3].Radio == nil, true},
		{"up", c.Terminals[0].Up, []cell.LineStep{
			{AtNs: 0, Line: path.Line{DelayNs: 10e6, Jitter: jitter, Loss: burst}},
			{AtNs: 20e9, Line: path.Line{DelayNs: 20e6, Jitter: jitter, Loss: burst}},
		}},
		{"down", c.Terminals[3].Down[0], cell.LineStep{AtNs: 0, Line: path.Line{
			DelayNs: 3e6, Jitter: jitter, Loss: loss, Reorder: path.Reorder{Share: 0.04}, Duplicate: 0.05,
		}}},
		{
			"wire up", c.WireUp,
			[]cell.WireStep{
				{AtNs: 0, Wire: path.Wire{RateBps: 10e6, Limit: limit}},
				{AtNs: 10e9, Wire: path.Wire{RateBps: 50e6, Limit: limit}},
			},
		},
		{"wire down", c.WireDown[0], cell.WireStep{AtNs: 0, Wire: path.Wire{RateBps: 100e6, Limit: limit}}},
		{
			"terminal outside", c.Terminals[4].Outside,
			&cell.Outside{
				Interface: "tap7", Addresses: addresses, Gateway: []netip.Addr{netip.MustParseAddr("192.168.7.1")},
			},
		},
		{"server outside", c.Servers[1].Outside, &cell.Outside{
			Interface: "eth9", Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")},
			Via: []netip.Addr{netip.MustParseAddr("198.51.100.1")},
		}},
		{"inside", c.Servers[0].Outside == nil && c.Terminals[0].Outside == nil, true},
	} {
		if !reflect.DeepEqual(v.got, v.want) {
			t.Errorf("%s: %+v, want %+v", v.what, v.got, v.want)
		}
	}
}

func TestOptionsReachTheEngine(t *testing.T) {
	const file = "terminals: {a: {link: ethernet}}\nservers: {b: {}}\ncell: {super_packets: %s}"
	for value, want := range map[string]cell.EngineOptions{
		"none": {}, "senders": {Supers: true}, "both": {Supers: true, Coalesce: true},
		"none, shortest_sleep: 1 ms": {Quantum: time.Millisecond},
	} {
		f, err := plan.ReadCell("cell.yaml", fmt.Appendf(nil, file, value))
		if err != nil {
			t.Fatal(err)
		}
		if got := FromFile(f).Engine; got != want {
			t.Errorf("%s: %+v, want %+v", value, got, want)
		}
	}
	if _, err := plan.ReadCell("cell.yaml", fmt.Appendf(nil, file, "receivers")); err == nil ||
		!strings.Contains(err.Error(), "none, senders, both") {
		t.Errorf("of another value it says %v", err)
	}
}

func TestTheConfigurationSurvivesItsWayToTheEngine(t *testing.T) {
	f, err := plan.ReadCell("cell.yaml", []byte(everything))
	if err != nil {
		t.Fatal(err)
	}
	c := FromFile(f)
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var read cell.Config
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(read, c) {
		t.Errorf("%+v became %+v", c, read)
	}
}

func TestMistakesInACellsFileAreNamed(t *testing.T) {
	for _, m := range []struct{ file, says string }{
		{"terminals: {a: {radio: {standard: ac, phy_rate: 867 Mbit/s}}}", "cell.yaml:1:"},
		{
			"terminals: {a: {link: ethernet, outside: {interface: e, addresses: 1.2.3}}}",
			"terminals.a.outside.addresses: found \"1.2.3\"",
		},
		{"terminals: {a: {link: ethernet, outside: {addresses: 1.2.3.4}}}", "no interface in terminals.a.outside"},
		{
			"terminals: {a: {link: ethernet, outside: {interface: e, addresses: 1.2.3.4, router: b}}}",
			`the unknown field "router"`,
		},
		{
			"terminals: {a: {link: ethernet, count: 2, outside: {interface: e, addresses: 1.2.3.4}}}",
			"outside for a group",
		},
		{"servers: {a: {}}", "terminals"},
		{"- a", "found a list"},
	} {
		_, err := plan.ReadCell("cell.yaml", []byte(m.file))
		if err == nil || !strings.Contains(err.Error(), m.says) {
			t.Errorf("%s\nsays %v\nwant %s", m.file, err, m.says)
		}
	}
}

func TestTheGuidesFilesAreRight(t *testing.T) {
	guide, err := os.ReadFile("../../../docs/reference/cell.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	for _, part := range strings.Split(string(guide), "```yaml\n")[1:] {
		examples++
		text, _, _ := strings.Cut(part, "```")
		f, err := plan.ReadCell("docs/reference/cell.md", []byte(text))
		if err != nil {
			t.Errorf("%v in\n%s", err, text)
			continue
		}
		if _, err := cell.NewWorld(FromFile(f), engine.Callbacks{}); err != nil {
			t.Errorf("%v in\n%s", err, text)
		}
	}
	if examples < 2 {
		t.Errorf("the guide has %d examples", examples)
	}
}

// TestTheEngineHasPlacesForWhatACellHolds takes the cell that engine.Config names: 1 Gbit/s and 500
// ms one way.
func TestTheEngineHasPlacesForWhatACellHolds(t *testing.T) {
	text := `name: far
terminals: {sta: {radio: {standard: ac, width: 80, streams: 1, phy_rate: 433.3 Mbit/s}}}
servers: {server: {}}
path: {RTT}
flows: {transfer: {from: sta, to: server, protocol: tcp}}
`
	for _, c := range []struct {
		path     string
		low, top int
	}{
		{"rtt: 20 ms", 0, 0},
		{"delay: 500 ms", 2*40638 + 4000, 2*40638 + 10000},
		{"up: {delay: 500 ms}, rate: 100 Mbit/s, schedule: [{at: 1 s, rate: 1 Gbit/s}]", 40638 + 4000, 40638 + 10000},
		{"queue: 100000 packets", 200000, 210000},
		{"rate: 10 Gbit/s, delay: 2 s", mostSlots, mostSlots},
	} {
		p, err := plan.Read(t.Context(), "far.yaml", []byte(strings.Replace(text, "RTT", c.path, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if n := CellConfig(p.Points[0].Setup, nil, 1).Engine.Slots; n < c.low || n > c.top {
			t.Errorf("%s: %d slots, want %d to %d", c.path, n, c.low, c.top)
		}
	}
}

func TestAShortPreambleReachesTheMedium(t *testing.T) {
	f, err := plan.ReadCell("cell.yaml", []byte(`name: short
terminals: {sta: {radio: {standard: b, phy_rate: 11 Mbit/s, short_preamble: true,
  schedule: [{at: 1 s, phy_rate: 1 Mbit/s}]}}}
servers: {server: {}}
`))
	if err != nil {
		t.Fatal(err)
	}
	// As it goes to the engine's process.
	text, err := json.Marshal(FromFile(f))
	if err != nil {
		t.Fatal(err)
	}
	var c cell.Config
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	steps := c.Terminals[0].Radio.PHY
	if len(steps) != 2 || !steps[0].PHY.ShortPreamble || steps[1].PHY.ShortPreamble {
		t.Errorf("%+v: want a short preamble at 11 Mbit/s, none at 1 Mbit/s", steps)
	}
}
