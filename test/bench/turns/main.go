// The turns command shows in virtual time the possible gain of taking turns, for terminals with
// equal airtime by default: the cell of Matsuno et al. 2021 with A-MPDUs of 1 ms.
//
//	go run ./test/bench/turns -page docs/results/share-turns.md
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"airtide/internal/cell/medium"
	"airtide/internal/share/fairness"
	"airtide/internal/stats"
	"airtide/internal/sys/file"
	"airtide/test/simulate"
)

const (
	aggregate = time.Millisecond // duration of an A-MPDU
	delay     = time.Millisecond // behind the access point, each way
	wire      = 1e9              // bit/s
	freeQueue = 4096             // packets that a flow without bound has in flight at most
	mssBits   = 8 * 1448
	settle    = 3 * time.Second
	measure   = 10 * time.Second
)

func main() {
	page := flag.String("page", "", "write a page here")
	seeds := flag.Int("seeds", 5, "runs of each way to send")
	flag.Parse()
	text, err := run(*seeds)
	if err == nil && *page != "" {
		err = file.Write(*page, []byte(text), 0o644)
	} else if err == nil {
		fmt.Print(text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "turns:", err)
		os.Exit(1)
	}
}

// terminals are the radios of two phones and two tablets.
func terminals() (rates [][]medium.RateFrom, err error) {
	for _, r := range []struct {
		standard       medium.Standard
		width, streams int
		mbps           float64
	}{
		{medium.Std11ac, 80, 2, 866.7},
		{medium.Std11ac, 80, 1, 433.3},
		{medium.Std11n, 20, 1, 65},
		{medium.Std11n, 20, 1, 65},
	} {
		phy, err := medium.AtRate(r.standard, r.width, r.streams, r.mbps)
		if err != nil {
			return nil, err
		}
		rates = append(rates, []medium.RateFrom{{PHY: phy}})
	}
	return rates, nil
}

func newAir(seed uint64, rates [][]medium.RateFrom) (*simulate.Emulated, error) {
	return simulate.NewEmulated(simulate.EmulatedConfig{
		Seed: seed, Band: medium.Band5GHz, Radios: rates, WireBps: wire, Delay: delay,
		Aggregation: medium.Aggregation{Bytes: 1 << 20, AirtimeNs: aggregate.Nanoseconds()},
	})
}

// policy is a way to send. It starts at time zero of an air, and continues it until a time.
type policy struct {
	name  string
	start func(e *simulate.Emulated, alone []float64) (until func(time.Duration))
}

// free has no bounds but those of CUBIC.
func free() policy {
	return policy{"CUBIC without bounds", func(e *simulate.Emulated, alone []float64) func(time.Duration) {
		for i := range alone {
			e.SetWindow(i, simulate.Window{Packets: freeQueue})
		}
		return e.Advance
	}}
}

// windows bounds each flow to its equal part of the airtime, with a queue of a length.
func windows(queue time.Duration) policy {
	name := fmt.Sprintf("windows, queues of %d ms", queue.Milliseconds())
	return policy{name, func(e *simulate.Emulated, alone []float64) func(time.Duration) {
		for i, rate := range alone {
			e.SetWindow(i, window(rate/float64(len(alone)), queue))
		}
		return e.Advance
	}}
}

// turns lets one terminal send at a time, with a queue of a length. Its packets in flight at the
// end of its turn are sent in the next one.
func turns(length, queue time.Duration) policy {
	name := fmt.Sprintf("turns of %d ms, queues of %d ms", length.Milliseconds(), queue.Milliseconds())
	return policy{name, func(e *simulate.Emulated, alone []float64) func(time.Duration) {
		turn := 0
		now := time.Duration(0)
		return func(until time.Duration) {
			for ; now < until; now += length {
				i := turn % len(alone)
				e.SetWindow(i, window(alone[i], queue))
				e.Advance(now + length)
				e.SetWindow(i, simulate.Window{})
				turn++
			}
		}
	}}
}

// window holds a rate over the base RTT and a queue.
func window(rate float64, queue time.Duration) simulate.Window {
	packets := int(rate*(2*delay+queue).Seconds()/mssBits) + 2
	return simulate.Window{Packets: packets, Least: packets}
}

// outcome is the mean over seeds.
type outcome struct {
	total float64 // bit/s
	parts float64 // sum of the goodputs as parts of the standalone rates
	index float64 // Jain's index of these parts
	rtt95 time.Duration
}

func judge(p policy, rates [][]medium.RateFrom, alone []float64, seeds int) (o outcome, err error) {
	for seed := range seeds {
		e, err := newAir(uint64(seed+1), rates)
		if err != nil {
			return o, err
		}
		until := p.start(e, alone)
		until(settle)
		for i := range alone {
			e.Drain(i)
			e.TakeRTTs(i)
		}
		until(settle + measure)
		var parts []float64
		rtts := stats.NewSketch()
		for i, rate := range alone {
			bps := e.Drain(i).Bits / measure.Seconds()
			parts = append(parts, bps/rate)
			o.total += bps / float64(seeds)
			o.parts += bps / rate / float64(seeds)
			of := e.TakeRTTs(i)
			rtts.Merge(&of)
		}
		o.index += fairness.Jain(parts) / float64(seeds)
		o.rtt95 += time.Duration(rtts.Quantiles(0.95)[0]) / time.Duration(seeds)
	}
	return o, nil
}

func run(seeds int) (string, error) {
	rates, err := terminals()
	if err != nil {
		return "", err
	}
	var alone []float64
	mean := 0.0
	for i := range rates {
		e, err := newAir(1, rates[i:i+1])
		if err != nil {
			return "", err
		}
		alone = append(alone, e.Alone())
		mean += alone[i] / float64(len(rates))
	}
	policies := []policy{free()}
	for _, queue := range []time.Duration{8, 16, 32, 64} {
		policies = append(policies, windows(queue*time.Millisecond))
	}
	for _, length := range []time.Duration{10, 20, 40, 80} {
		policies = append(policies, turns(length*time.Millisecond, 3*time.Millisecond))
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# Taking turns

What terminals could gain if they took turns instead of contending, in virtual time, where airtime
is equal by default: two phones (802.11ac, 866.7 and 433.3 Mbit/s) and two tablets (802.11n, 65
Mbit/s) upload with A-MPDUs of 1 ms. Means of %d seeds, %d s each. Written by
`+"`go run ./test/bench/turns`"+`.

A part is a goodput divided by the standalone rate. Equal turns without any cost have a sum of parts
of 1 and a total of %.1f Mbit/s, the mean of the standalone rates: this is the bound.

| terminals send by | total, Mbit/s | sum of parts | Jain's index of parts | RTT p95, ms |
|---|---|---|---|---|
`, seeds, int(measure.Seconds()), mean/1e6)
	for _, p := range policies {
		o, err := judge(p, rates, alone, seeds)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "| %s | %.1f | %.3f | %.3f | %.1f |\n",
			p.name, o.total/1e6, o.parts, o.index, o.rtt95.Seconds()*1e3)
	}
	return b.String(), nil
}
