//go:build kernel

package bpf

import (
	"fmt"
	"math"
	"testing"
	"time"

	"airtide/internal/kernel/congestion"
	"airtide/internal/tcp"
	"airtide/test/testnet"
)

// cubic_rtt climbs along its own cubic, also under another name.
func TestOwnCubicsStateIsRead(t *testing.T) {
	t.Parallel()
	const name, reference = "fair_seen", 20_000
	parameters := congestion.CubicRTT.Defaults()
	parameters.RTTRefUs = reference
	loaded, err := congestion.Load(congestion.CubicRTT, congestion.Options{Name: name, Parameters: parameters})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = loaded.Close() })
	n := newNetwork(t, 100*time.Millisecond)
	obs := observeNetwork(t, n,
		Options{Aliases: func() (map[string]string, error) { return map[string]string{name: "cubic_rtt"}, nil }})
	client, server := n.Connect(testnet.Dial{CongestionControl: name})
	n.Client.Out.DropData(800, 1) // the loss is in slow start, at a window of more than 320 packets
	send(t, client, server, 8000*mss)
	quiet(t, client)
	obs.check(func(t *testing.T, r *recording) {
		checked := 0
		off := 0
		example := ""
		for _, s := range r.packets(r.flow(t, client).ID) {
			target, ok := s.Get(tcp.CubicTargetPackets)
			v := s.Values
			if !ok || v[tcp.CAStateField] != int64(tcp.CAOpen) || v[tcp.LostPackets] == 0 {
				continue
			}
			age := float64(s.TimeNs-v[tcp.CubicEpochNs])/1e9 + float64(v[tcp.CubicDelayMinUs])/1e6
			k := float64(v[tcp.CubicKMs]) / 1000
			// The RTT in use is that of the epoch's beginning, or within an eighth of the smoothed
			// one; a reference of a fifth of it makes C five times as large.
			c := 0.4 * float64(v[tcp.SrttUs]) / reference
			gap := float64(v[tcp.CubicOriginPackets]) - float64(target)
			if want := c * math.Pow(k-age, 3); k-age > 0.5 && math.Abs(gap-want) > 0.3*want+3 {
				off++
				example = fmt.Sprintf(
					"%.2f s into the epoch the target is %.1f packets below the origin, the curve %.1f", age, gap, want,
				)
			}
			checked++
		}
		// Where the machine stood still the smoothed RTT is for a while not the one in use.
		if off > checked/4 {
			t.Errorf("%d of %d samples are off the curve: %s", off, checked, example)
		}
		if checked < 200 {
			t.Errorf("only %d samples were in congestion avoidance", checked)
		}
	})
}

func TestOwnCompoundsStateIsRead(t *testing.T) {
	t.Parallel()
	const name = "compound_seen"
	loaded, err := congestion.Load(congestion.Compound,
		congestion.Options{Name: name, Parameters: congestion.Compound.Defaults()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = loaded.Close() })
	const rtt = 50 * time.Millisecond
	n := newNetwork(t, rtt)
	obs := observeNetwork(t, n,
		Options{Aliases: func() (map[string]string, error) { return map[string]string{name: "compound"}, nil }})
	client, server := n.Connect(testnet.Dial{CongestionControl: name})
	n.Client.Out.DropData(800, 1)
	send(t, client, server, 8000*mss)
	quiet(t, client)
	obs.check(func(t *testing.T, r *recording) {
		most := int64(0)
		samples := r.packets(r.flow(t, client).ID)
		for _, s := range samples {
			v := s.Values
			if v[tcp.CubicKMs] != tcp.Absent {
				t.Fatal("it has a state of CUBIC")
			}
			// Nothing waits on this path, so the delay part grows above the window at which it
			// starts to work.
			if v[tcp.CompoundDelayPackets] < 0 || v[tcp.CompoundDelayPackets] > v[tcp.CwndPackets] {
				t.Fatalf("a delay part of %d packets in a window of %d", v[tcp.CompoundDelayPackets],
					v[tcp.CwndPackets])
			}
			if g := v[tcp.CompoundGammaPackets]; g < 5 || g > 30 {
				t.Fatalf("gamma is %d", g)
			}
			most = max(most, v[tcp.CompoundDelayPackets])
		}
		base := samples[len(samples)-1].Values[tcp.CompoundBaseRttUs]
		if most < 10 || base < int64(rtt/1000) || base > int64(rtt/1000)+20_000 {
			t.Errorf("a delay part of at most %d packets, base RTT %d µs", most, base)
		}
	})
}
