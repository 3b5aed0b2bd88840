package plan

import (
	"fmt"
	"strings"
	"testing"
)

// minimal is the least that an experiment needs.
const minimal = `name: minimal
terminals:
  sta: {link: ethernet}
servers:
  server:
flows:
  up: {from: sta, to: server, protocol: tcp}
`

func TestProblemsNamePlaceFoundAndExpected(t *testing.T) {
	for _, c := range []struct{ name, change, to, want string }{
		{
			"unknown field", "warmup: 2 s", "warmpu: 2 s",
			`whole.yaml:5:1: warmpu: found the unknown field "warmpu", expected one of: name, title, source, notes, ` +
				`repeats, seed, seeds, same_seeds, at_once, lag_limit, sweep, measure, claims, figures, ` +
				`duration, warmup, terminals, servers, congestion_controls, cell, path, flows, record ` +
				`(did you mean warmup?)`,
		},
		{
			"unknown field within", "phy_rate: 65", "phyrate: 65",
			`whole.yaml:18:7: terminals.tablet.radio.phyrate: found the unknown field "phyrate", expected one of: ` +
				`standard, phy_rate, width, streams, guard_interval, aggregation, queue, frame_errors, refuses, ` +
				`access, short_preamble, schedule (did you mean phy_rate?)`,
		},
		{
			"wrong unit", "phy_rate: 65 Mbit/s", "phy_rate: 65 MHz",
			`whole.yaml:18:17: terminals.tablet.radio.phy_rate: found "65 MHz", expected a rate in bit/s, kbit/s, ` +
				`Mbit/s or Gbit/s, such as 54 Mbit/s`,
		},
		{
			"unit in other letters", "phy_rate: 65 Mbit/s", "phy_rate: 65 mbit",
			`found "65 mbit", expected a rate in bit/s, kbit/s, Mbit/s or Gbit/s, such as 54 Mbit/s (did you mean 65 ` +
				`Mbit/s?)`,
		},
		{
			"more than a week", "duration: 20 s", "duration: 200 h",
			`duration: found "200 h", expected a time in ns, us, ms, s, min or h, of at most a week, such as 20 ms`,
		},
		{
			"no unit", "duration: 20 s", "duration: 20",
			`whole.yaml:4:11: duration: found "20", expected a time in ns, us, ms, s, min or h, of at most a week, ` +
				`such as 20 ms`,
		},
		{
			"impossible rate", "phy_rate: 65 Mbit/s\n", "phy_rate: 66 Mbit/s\n",
			`whole.yaml:18:17: terminals.tablet.radio.phy_rate: found "66 Mbit/s", expected a PHY rate of 802.11n at ` +
				`20 MHz with 1 stream with a guard interval of 800 ns: 6.5, 13, 19.5, 26, 39, 52, 58.5, 65 Mbit/s`,
		},
		{
			"impossible rate of many", "profile: pixel4",
			"profile: pixel4\n    radio: {phy_rate: 870 Mbit/s, width: 0, streams: 0}",
			`whole.yaml:11:23: terminals.phone.radio.phy_rate: found "870 Mbit/s", expected a PHY rate of 802.11ac: ` +
				`the nearest are 864, 866.7, 877.5, 900 Mbit/s`,
		},
		{
			"width that does not exist", "width: 20", "width: 30",
			`expected an existing mode: there is no 802.11n at 30 MHz with 1 stream with a guard interval of ` +
				`800 ns`,
		},
		{
			"standard in the wrong band", "cell:\n", "cell:\n  band: 2.4 GHz\n",
			`terminals.phone.radio.standard: found 802.11ac, expected a standard that exists at 2.4 GHz, the band of ` +
				`the cell (cell.band)`,
		},
		{
			"aggregation without A-MPDU",
			"standard: n\n      phy_rate: 65 Mbit/s\n      streams: 1\n      width: 20\n      guard_interval: 800 ns",
			"standard: a\n      phy_rate: 54 Mbit/s",
			`terminals.tablet.radio.aggregation: found aggregation, expected none: 802.11a has no A-MPDU`,
		},
		{
			"aggregation beyond the standard", "bytes: 32 kB", "bytes: 1 MB",
			`found 1 MB, expected at most 65535 B, as 802.11n has`,
		},
		{
			"contention window that is none", "queue: 500 packets", "access: {cw_min: 16}",
			`terminals.tablet.radio.access.cw_min: found "16", expected a power of two less one, 1 to 32767`,
		},
		{
			"contention windows out of order", "queue: 500 packets", "access: {cw_min: 31, cw_max: 15}",
			`terminals.tablet.radio.access.cw_min: found "31", expected at most cw_max, 15`,
		},
		{
			"AIFSN beyond its field", "queue: 500 packets", "access: {aifsn: 16}",
			`terminals.tablet.radio.access.aifsn: found "16", expected 1 to 15`,
		},
		{
			"unknown category", "  ap: {", "  ap: {access: {category: vidoe}, ",
			`cell.ap.access.category: found "vidoe", expected one of: dcf, background, best_effort, video, voice ` +
				`(did you mean video?)`,
		},
		{
			"basic rate that is none", "retry_limit: 4", "basic_rates: [6 Mbit/s, 7 Mbit/s]",
			`cell.basic_rates.1: found "7 Mbit/s", expected a rate of 802.11b or g`,
		},
		{
			"long sleep", "retry_limit: 4", "shortest_sleep: 2 ms",
			`cell.shortest_sleep: found 2 ms, expected 1 ms at most`,
		},
		{
			"beacons too often", "retry_limit: 4", "beacons: {every: 10 us}",
			`cell.beacons.every: found 10 us, expected 1 ms to 100 s, such as 102.4 ms`,
		},
		{
			"beacons of another band", "retry_limit: 4", "beacons: {every: 100 ms, rate: 1 Mbit/s}",
			`cell.beacons.rate: found "1 Mbit/s", expected a rate of 802.11a, 6 Mbit/s and more, at 5 GHz`,
		},
		{
			"short preamble of another standard", "queue: 500 packets", "short_preamble: true",
			`terminals.tablet.radio.short_preamble: found a short preamble for 802.11n, expected none: only 802.11b ` +
				`has two`,
		},
		{
			"no standard", "    profile: pixel4\n", "",
			`terminals.phone.radio: found no 802.11 standard, expected radio.standard here, in the profile or under ` +
				`cell, or link: ethernet`,
		},
		{
			"unknown profile", "profile: pixel4", "profile: pixle4",
			`whole.yaml:10:14: terminals.phone.profile: found "pixle4", expected one of: android-x86-2010, ` +
				`beagleboard, linux-today, nexus7-2012, nexus7-2013, pixel4, pixel5, ubuntu-9.10, windows7 (did you ` +
				`mean pixel4?)`,
		},
		{
			"unknown machine", "from: [phone, tablet]", "from: [phone, tabelt]",
			`whole.yaml:54:22: flows.up.from.1: found "tabelt", expected one of: phone, tablet, board, server, ` +
				`other, terminals, all (did you mean tablet?)`,
		},
		{
			"unknown protocol", "protocol: udp", "protocol: quic",
			`found "quic", expected one of: tcp, udp, http_put, http_get, transfers, web, ping`,
		},
		{
			"field of another protocol", "protocol: ping", "protocol: ping, rate: 1 Mbit/s",
			`found rate for ping, expected none: it means nothing for this protocol, which takes one of: length, ` +
				`interval, transfers`,
		},
		{"udp without a rate", "rate: 5 Mbit/s, ", "", `found udp without a rate, expected one, such as 30 Mbit/s`},
		{
			"stop after the end", "stop: 15 s", "stop: 25 s",
			`flows.down.stop: found 25 s, expected at most the duration, 20 s`,
		},
		{
			"stagger beyond the stop", "stagger: 500 ms", "stagger: 10 s",
			`found a start (with stagger) at 20 s and a stop at 20 s, expected a start before the stop`,
		},
		{
			"a flow to itself", "from: phone, to: server, protocol: ping", "from: phone, to: phone, protocol: ping",
			`found a flow from phone to itself, expected two machines`,
		},
		{
			"a flow between servers", "from: other, to: board", "from: other, to: server",
			`found a flow between the servers other and server, expected a terminal at one end at least`,
		},
		{
			"lists that do not pair", "to: server, protocol: http_put",
			"to: [server, other, board], protocol: http_put",
			`found 3 machines for 2 in from, expected as many, or one`,
		},
		{
			"warmup beyond the duration", "warmup: 2 s", "warmup: 20 s",
			`whole.yaml:5:9: warmup: found 20 s, expected less than the duration, 20 s`,
		},
		{
			"rtt and delay", "rtt: 20 ms\n", "rtt: 20 ms\n  delay: 1 ms\n",
			`path.rtt: found rtt besides delay, expected one of them`,
		},
		{
			"schedule out of order", "{at: 10 s, rtt: 200 ms, rate: 10 Mbit/s}",
			"{at: 10 s, rtt: 200 ms}\n    - {at: 5 s, rtt: 0}",
			`path.schedule.1.at: found 5 s, expected times in order: the one before is 10 s`,
		},
		{
			"schedule after the end", "{at: 5 s, rtt: 0}", "{at: 50 s, rtt: 0}",
			`path.terminals.tablet2.schedule.0.at: found 50 s, expected less than the duration, 20 s`,
		},
		{
			"a step without a change", "{at: 5 s, rtt: 0}", "{at: 5 s}",
			`found a time at which nothing changes, expected what changes, such as rtt`,
		},
		{
			"path of an unknown terminal", "    tablet2:\n      burst", "    tablet3:\n      burst",
			`path.terminals.tablet3: found "tablet3", expected one of: phone, tablet, board (did you mean tablet?)`,
		},
		{
			"sysctl beside its field", "net.ipv4.tcp_sack: 0", "net.ipv4.tcp_rmem: 1 2 3",
			`found net.ipv4.tcp_rmem, expected the field receive_buffer, which stands for it`,
		},
		{
			"optional sysctl beside its field", "net.ipv4.tcp_sack: 0", "-net.ipv4.tcp_rmem: 1 2 3",
			`found -net.ipv4.tcp_rmem, expected the field receive_buffer, which stands for it`,
		},
		{
			"sysctl with and without its mark", "net.ipv4.tcp_sack: 0",
			"net.ipv4.tcp_sack: 0, -net.ipv4.tcp_sack: 1",
			`found -net.ipv4.tcp_sack besides net.ipv4.tcp_sack, expected one of them`,
		},
		{
			"sysctl of the whole machine", "net.ipv4.tcp_sack: 0", "kernel.panic: 1",
			`found the sysctl "kernel.panic", expected one of a network namespace`,
		},
		{
			"buffer out of order", "default: 87380 B", "default: 87 B",
			`terminals.tablet.receive_buffer: found 4096, 87, 110208 B, expected min, default and max`,
		},
		{
			"buffer not whole", "default: 87380 B, ", "",
			`found no default in terminals.tablet.receive_buffer, expected one`,
		},
		{
			"kernel figure without recording", "record: {tcp: all", "record: {tcp: server",
			`measure.cwnd.quantity: found max_cwnd of phone, whose kernel is not recorded, expected record.tcp with ` +
				`it`,
		},
		{
			"quantity that a flow has not", "quantity: ping_rtt", "quantity: ping_rtt, flows: up",
			`found ping_rtt of the flow up, expected a quantity that tcp has`,
		},
		{
			"kernel figure of a part of a run", "quantity: cwnd, flows: up", "quantity: cwnd, from: 5 s, flows: up",
			`measure.window: found cwnd of a part of a run, expected goodput or what follows from it`,
		},
		{
			"part beyond the end", "quantity: goodput, flows: up, take: jain",
			"quantity: goodput, to: 25 s, flows: up, take: jain",
			`measure.fairness.to: found 25 s, expected at most the duration, 20 s`,
		},
		{
			"part without time", "quantity: goodput, flows: up, take: jain",
			"quantity: goodput, to: 1 s, flows: up, take: jain",
			`measure.fairness: found a part from 2 s to 1 s, expected an end after its start`,
		},
		{
			"distance without maxima", "rtt: {quantity: ping_rtt}", "rtt: {quantity: distance}",
			`measure.rtt.quantity: found distance of phone, whose rate alone is unknown, expected ` +
				`share.max_rate of it`,
		},
		{
			"hub that is no server", "profile: pixel4", "profile: pixel4\n    share: {policy: shares, hub: board}",
			`terminals.phone.share.hub: found "board", expected one of: server, other`,
		},
		{
			"agent that ends before it starts", "profile: pixel4",
			"profile: pixel4\n    share: {policy: shares, start: 10 s, stop: 10 s}",
			`terminals.phone.share.stop: found 10 s, expected a time after the start, 10 s`,
		},
		{
			"agent that starts after the end", "profile: pixel4",
			"profile: pixel4\n    share: {policy: shares, start: 20 s}",
			`terminals.phone.share.start: found 20 s, expected less than the duration, 20 s`,
		},
		{
			"alpha below 0", "profile: pixel4", "profile: pixel4\n    share: {policy: shares, alpha: -1}",
			`terminals.phone.share.alpha: found "-1", expected a number of at least 0, or inf`,
		},
		{
			"alpha of some", "  board: {link: ethernet, congestion: fair}",
			"  board: {link: ethernet, congestion: fair, share: {policy: shares, alpha: inf}}\n  laptop: " +
				"{profile: pixel5, share: {policy: shares, alpha: 1}}",
			`terminals.board.share.alpha: found another alpha than that of laptop, expected the same on all ` +
				`terminals that share`,
		},
		{
			"PHY rate without a radio", "profile: pixel4",
			"profile: pixel4\n    link: ethernet\n    share: {policy: shares, knows_phy: true}",
			`terminals.phone.share.knows_phy: found a PHY rate of a terminal on Ethernet, expected false, or link: ` +
				`wlan`,
		},
		{
			"channel without a radio", "profile: pixel4",
			"profile: pixel4\n    link: ethernet\n    share: {policy: shares, knows_busy: true}",
			`terminals.phone.share.knows_busy: found a channel of a terminal on Ethernet, expected false, or link: ` +
				`wlan`,
		},
		{
			"distance of some flows", "rtt: {quantity: ping_rtt}", "rtt: {quantity: ap_backlog_p95, flows: up}",
			`measure.rtt.flows: found flows for ap_backlog_p95, expected none: it is a figure of the whole cell`,
		},
		{
			"timeline of an unknown flow", "y: [goodput, window]", "of: uq2, y: [goodput, window]",
			`figures.three.of: found "uq2", expected one of: up, down, probe`,
		},
		{
			"bars of some flows", "kind: lines, x: rtt", "kind: lines, of: up, x: rtt",
			`figures.one.of: found flows for lines, expected none: only a timeline is of some flows`,
		},
		{
			"figure over nothing swept", "x: rtt, y: [goodput]", "x: delay, y: [goodput]",
			`figures.one.x: found "delay", expected one of: rtt, discipline, limit, system`,
		},
		{
			"timeline over something", "kind: timeline, y", "kind: timeline, x: rtt, y",
			`figures.three.x: found "rtt", expected none: a timeline is over time`,
		},
		{
			"timeline of what has no course", "[goodput, window]", "[goodput, cwnd]",
			`figures.three.y.1: found cwnd, which is max_cwnd, expected over time there are only one of: goodput, ` +
				`srtt, cwnd, ca_state, cubic_k, send_window`,
		},
		{
			"plot of no flow", "y: [goodput, window]", "plot: cwnd",
			`figures.three.of: found 0 flows, expected the flow whose cwnd to draw`,
		},
		{
			"plot and measurements", "y: [goodput, window]", "y: goodput, plot: cwnd, of: up",
			`figures.three.plot: found "cwnd" and y, expected one of the two`,
		},
		{
			"plot that is no timeline", "kind: lines, x: rtt", "kind: lines, plot: cwnd, x: rtt",
			`figures.one.plot: found "cwnd" for lines, expected none: only a timeline is of a recording`,
		},
		{
			"figure at a value not swept", "at: {rtt: 20 ms}", "at: {rtt: 30 ms}",
			`figures.three.at.rtt: found "30 ms", expected one of: 20 ms, 200 ms`,
		},
		{
			"figure at nothing swept", "at: {system: lossy}", "at: {delay: lossy}",
			`figures.two.at.delay: found "delay", expected one of: rtt, discipline, limit, system`,
		},
		{
			"series of what is fixed", "series: system}", "series: rtt}",
			`figures.three.series: found "rtt", expected one of: discipline, limit, system`,
		},
		{
			"unknown kind of congestion control", "kind: cubic_rtt", "kind: cubic_rrt",
			`congestion_controls.fair.kind: found "cubic_rrt", expected one of: cubic_plain, cubic_rttk, cubic_rtt, ` +
				`cubic_bound, compound (did you mean cubic_rtt?)`,
		},
		{
			"parameter of another kind", "{kind: compound, gamma", "{kind: compound, rtt_ref: 1 s, gamma",
			`congestion_controls.wide.rtt_ref: found rtt_ref for compound, expected none: it takes one of: gamma, ` +
				`gamma_low, gamma_high, lambda, low_window`,
		},
		{
			"parameter out of its bounds", "rtt_ref: 200 ms", "rtt_ref: 200 us",
			`congestion_controls.fair: found reference RTT in microseconds 200, expected 1000 to 1e+07`,
		},
		{
			"bounds of another kind", "{kind: cubic_rtt, rtt_ref", "{kind: cubic_rtt, upper: 63, rtt_ref",
			`congestion_controls.fair.upper: found upper for cubic_rtt, expected none: it takes one of: rtt_ref, ` +
				`beta, hystart`,
		},
		{
			"bounds that cross",
			"{kind: compound, gamma: 20, gamma_low: 4, gamma_high: 40, lambda: 1, low_window: 10}",
			"{kind: cubic_bound, lower: 64, upper: 63}",
			`congestion_controls.wide: found lower bound of 64 packets above the upper bound of 63`,
		},
		{
			"a bound of one packet",
			"{kind: compound, gamma: 20, gamma_low: 4, gamma_high: 40, lambda: 1, low_window: 10}",
			"{kind: cubic_bound, upper: 1}", `congestion_controls.wide: found bound of 1 packets, expected 2 to`,
		},
		{
			"one kind under another's name", "  wide: {", "  cubic_rtt: {",
			`congestion_controls.cubic_rtt: found compound under the name of cubic_rtt, expected a name that is not ` +
				`another kind's`,
		},
		{
			"claim with a mistake", "mean(at(goodput", "mean(at(godput",
			`claims.enough.holds: found a mistake at its line 1, column 9: unknown name godput`,
		},
		{
			"claim at a value not swept", `limit: "256 kB"`, `limit: "256kB"`,
			`limit takes no value "256kB" in the sweep, expected one of: 100 packets, 256 kB`,
		},
		{
			"sweep over nothing", "over: path.rtt", "over: path.rtt.deep",
			`found the unknown path "path.rtt.deep", expected a path to a value of the file`,
		},
		{
			"sweep over an unknown field", "over: path.rtt", "over: path.rttt",
			`path.rttt: found the unknown field "rttt", expected one of: rate, queue, discipline, rtt`,
		},
		{
			"sweep over repeats", "over: path.rtt", "over: repeats",
			`found a sweep over repeats, expected something of a run: repeats holds for the whole experiment`,
		},
		{
			"sweep to an impossible value", "[20 ms, 200 ms]", "[20 ms, 200 bananas]",
			`whole.yaml:63:21: path.rtt: found "200 bananas", expected a time`,
		},
		{
			"pairs of different length", "values: [fifo, airtime_fair]", "values: [fifo]",
			`found 2 values, expected 1, as many as those before it`,
		},
		{
			"a value twice", "[20 ms, 200 ms]", "[20 ms, 20 ms]",
			`found the value "20 ms" of rtt a second time, expected each value once`,
		},
		{
			"name twice", "  server: {profile", "  tablet1: {profile",
			`servers.tablet1: found the name "tablet1", which is a terminal of tablet, expected unique names`,
		},
		{
			"reserved name", "  other:", "  all:",
			`found the name "all", which is the word for all machines, expected unique names`,
		},
		{
			"wrong name", "  other:", "  Other:",
			`found "Other" as a name, expected up to 40 of a-z, 0-9 and _, the first a letter`,
		},
		{
			"text for a mapping", "cell:\n", "cell: fast\nx:\n",
			`cell: found "fast", expected a mapping with some of: radio, ap, band`,
		},
		{
			"list for a value", "repeats: 5", "repeats: [5]",
			`whole.yaml:6:10: repeats: found a list, expected a whole number`,
		},
		{
			"value for a list", "schedule:\n    - {at: 10 s, rtt: 200 ms, rate: 10 Mbit/s}", "schedule: never",
			`path.schedule: found "never", expected a list`,
		},
		{
			"not a truth", "ack_thinning: true", "ack_thinning: maybe",
			`cell.ap.ack_thinning: found "maybe", expected true or false`,
		},
		{"no terminals", "terminals:\n", "machines:\n", `found no terminals, expected one`},
		{
			"field twice", "seed: 7", "seed: 7\nseed: 8",
			`whole.yaml:8:1: found "seed" a second time, expected each name once`,
		},
		{"anchor", "seed: 7", "seed: &seven 7", `whole.yaml:7:7: found the anchor &seven, expected plain YAML`},
		{"tag", "seed: 7", "seed: !!str 7", `found the tag !!str, expected plain YAML`},
		{"alias", "seed: 7", "seed: *seven", `whole.yaml:7:7: found invalid YAML: `},
		{"merge key", "cell:\n", "cell:\n  <<: {retry_limit: 3}\n", `found the merge key <<, expected plain YAML`},
		{"broken YAML", "repeats: 5", "repeats: [5", `whole.yaml:`},
		{"tab", "  ap: {", "\tap: {", `whole.yaml:32:1: found invalid YAML: found character that cannot start any ` +
			`token`},
		{"two documents", "cell:\n", "---\ncell:\n", `whole.yaml:`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !strings.Contains(wholeFile, c.change) {
				t.Fatalf("the file has no %q", c.change)
			}
			_, err := Read(t.Context(), "whole.yaml", []byte(strings.Replace(wholeFile, c.change, c.to, 1)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got      %v\nexpected %s", err, c.want)
			}
		})
	}
}

func TestSeveralProblemsAreToldAtOnce(t *testing.T) {
	text := strings.NewReplacer(
		"warmup: 2 s", "warmup: soon", "protocol: udp", "protocol: quic", "repeats: 5", "repeats: often",
	).Replace(wholeFile)
	_, err := Read(t.Context(), "whole.yaml", []byte(text))
	if err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("three mistakes gave\n%v", err)
	}
}

func TestTooManyPointsAreRefusedWithTheirNumber(t *testing.T) {
	var values []string
	for i := range 100 {
		values = append(values, fmt.Sprintf("%d ms", i))
	}
	list := "[" + strings.Join(values, ", ") + "]"
	text := minimal + "sweep:\n"
	for i, path := range []string{"path.delay", "path.jitter", "path.up.delay"} {
		text += fmt.Sprintf("  - {over: %s, as: p%d, values: %s}\n", path, i, list)
	}
	_, err := Read(t.Context(), "big.yaml", []byte(text))
	if err == nil ||
		!strings.Contains(err.Error(), "sweep: found 1000000 points (100 x 100 x 100), expected at most 10000") {
		t.Errorf("got %v", err)
	}
}

func TestFilesThatAreNoExperiments(t *testing.T) {
	for name, c := range map[string]struct{ data, want string }{
		"empty":   {"", "x.yaml:1:1: found an empty file, expected an experiment"},
		"comment": {"# nothing\n", "expected an experiment"},
		"a list": {"- a\n- b\n", "x.yaml:1:1: found a list, expected a mapping with name, terminals and " +
			"flows"},
		"a word":        {"hello", `found "hello", expected a mapping`},
		"no flows":      {"name: x\nterminals:\n  a:\n", "found no flows, expected one"},
		"deep":          {strings.Repeat("[", 10000), "found invalid YAML: "},
		"deep blocks":   {strings.Repeat("- ", 10000), "found invalid YAML: "},
		"large":         {strings.Repeat("# long\n", 100_000), "found more than 262144 bytes, expected an experiment"},
		"binary":        {"\x00\x01\x02", "found a binary file, expected an experiment"},
		"billion laugh": {"a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n", "found the anchor &a"},
		"complex key":   {"? [a, b]\n: c\n", "as a name, expected a word"},
	} {
		_, err := Read(t.Context(), "x.yaml", []byte(c.data))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, expected %s", name, err, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(wholeFile))
	f.Add([]byte(minimal))
	f.Add([]byte("sweep:\n  - {over: a.*.b, values: [1, [2], {c: 3}]}\n" + minimal))
	f.Add([]byte("{terminals: {a: {count: 3}}, name: x, flows: {f: {from: a, to: a1, protocol: web}}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Read(t.Context(), "fuzz.yaml", data)
		if err != nil {
			for _, problem := range err.(Problems) {
				if problem.Line < 1 || problem.Column < 1 || problem.Found == "" {
					t.Errorf("a problem without a place or a finding: %#v", problem)
				}
			}
			return
		}
		// A plan without problems can be printed, and is the same when it is read again.
		if len(p.Runs) == 0 {
			t.Error("a plan without runs")
		}
		if err := p.Print(new(strings.Builder), Overhead); err != nil {
			t.Error(err)
		}
		again, err := Read(t.Context(), "fuzz.yaml", data)
		if err != nil || fmt.Sprint(again.Runs) != fmt.Sprint(p.Runs) {
			t.Errorf("read again, it has other runs (%v)", err)
		}
	})
}
