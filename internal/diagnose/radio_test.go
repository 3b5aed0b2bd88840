package diagnose

import (
	"net/netip"
	"strings"
	"testing"

	"airtide/internal/tcp"
)

// air makes records of one interface.
type air struct {
	*scene
	at     int64
	values tcp.RadioValues
	netns  uint32
}

// newAir begins a scene whose connection goes by wlan0 at 100 Mbit/s.
func newAir(t *testing.T) *air {
	t.Helper()
	a := &air{scene: newScene(t, Options{}), at: t0, values: tcp.NoRadioValues()}
	a.flow.Local = netip.MustParseAddrPort("192.0.2.1:1000")
	a.describe()
	a.values[tcp.RadioTxRateBps] = 100e6
	a.values[tcp.RadioRxRateBps] = 100e6
	a.values[tcp.RadioTxPackets] = 0
	a.values[tcp.RadioTxRetries] = 0
	a.values[tcp.RadioTxFailed] = 0
	a.station(0, nil)
	return a
}

// describe delivers the record of the interface.
func (a *air) describe() {
	a.t.Helper()
	a.record(tcp.Radio{
		Kind: tcp.RadioInterface, SSID: "ce\x1bll", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.1")},
		Values: tcp.NoRadioValues(),
	})
}

func (a *air) record(r tcp.Radio) {
	a.t.Helper()
	r.TimeNs = a.at
	r.NetNS = a.netns
	r.Interface = "wlan0"
	if err := a.engine.Radio(&r); err != nil {
		a.t.Fatal(err)
	}
}

// station delivers records of the link each 100 ms for a time; change makes the values of each.
func (a *air) station(length int64, change func(v *tcp.RadioValues)) {
	a.t.Helper()
	for range max(1, length/(100*ms)) {
		if change != nil {
			a.at += 100 * ms
			change(&a.values)
		}
		a.record(tcp.Radio{Kind: tcp.RadioStation, Station: "02:00:00:00:00:01", Values: a.values})
	}
}

func (a *air) event(kind tcp.RadioKind) {
	a.t.Helper()
	a.record(tcp.Radio{Kind: kind, Values: tcp.NoRadioValues()})
}

// busy lets the connection fill its window at about 23 Mbit/s behind a queue.
func (a *air) busy(length int64) {
	a.run(length, func(int64) { a.sends(20); a.set(values{tcp.RttUs: 90_000}) })
}

func good(v *tcp.RadioValues) { v[tcp.RadioTxPackets] += 200 }

func TestRadioRules(t *testing.T) {
	const length = 5e9
	for name, c := range map[string]struct {
		want     Limit
		evidence string
		play     func(*air)
	}{
		"a good radio": {Capacity, "", func(a *air) {
			a.station(length, good)
			a.run(100*ms, nil)
			a.busy(length)
		}},
		"the rate fell": {RadioLimit, "tx_rate_bps", func(a *air) {
			a.station(length/10, good)
			a.station(length, func(v *tcp.RadioValues) { good(v); v[tcp.RadioTxRateBps] = 30e6 })
			a.run(100*ms, nil)
			a.busy(length)
		}},
		"the rate fell, and nothing uses it": {Capacity, "", func(a *air) {
			a.values[tcp.RadioTxRateBps] = 2000e6
			a.station(length/10, good)
			a.station(length, func(v *tcp.RadioValues) { good(v); v[tcp.RadioTxRateBps] = 500e6 })
			a.run(100*ms, nil)
			a.busy(length)
		}},
		"a rate that is not that of the data": {Capacity, "", func(a *air) {
			a.station(length/10, good)
			a.station(length, func(v *tcp.RadioValues) { good(v); v[tcp.RadioTxRateBps] = 6e6 })
			a.run(100*ms, nil)
			a.busy(length)
		}},
		"the retries rose": {RadioLimit, "tx_retries", func(a *air) {
			a.values[tcp.RadioTxRateBps] = 54e6
			a.station(length, func(v *tcp.RadioValues) { good(v); v[tcp.RadioTxRetries] += 150 })
			a.run(100*ms, nil)
			a.busy(length)
		}},
		"packets were given up": {RadioLimit, "tx_failed", func(a *air) {
			a.station(length, func(v *tcp.RadioValues) { good(v); v[tcp.RadioTxFailed]++ })
			a.run(100*ms, nil)
			a.run(length, func(i int64) {
				a.sends(20)
				a.set(values{tcp.RttUs: 90_000})
				if i%10 == 0 {
					a.grow(values{tcp.RetransmitsPackets: 1})
				}
			})
		}},
		"others hold the channel": {RadioLimit, "busy_ms", func(a *air) {
			channel := tcp.NoRadioValues()
			for _, f := range []tcp.RadioField{
				tcp.RadioChannelMs, tcp.RadioBusyMs, tcp.RadioChannelTxMs, tcp.RadioChannelRxMs,
			} {
				channel[f] = 0
			}
			for range 5 {
				a.record(tcp.Radio{Kind: tcp.RadioChannel, Values: channel})
				a.station(1e9, good)
				channel[tcp.RadioChannelMs] += 1000
				channel[tcp.RadioBusyMs] += 900
				channel[tcp.RadioChannelTxMs] += 200
				channel[tcp.RadioChannelRxMs] += 50
			}
			a.run(100*ms, nil)
			a.busy(length)
		}},
		"a scan pauses the path": {RadioLimit, "scan_start, disconnect, roam", func(a *air) {
			a.pauses()
			a.event(tcp.RadioScanStart)
			a.station(6e9, good)
			a.event(tcp.RadioScanEnd)
			a.station(1e9, good)
		}},
		"pauses, most after the scan": {Stall, "rtt_us", func(a *air) {
			a.pauses()
			a.event(tcp.RadioScanStart)
			a.station(1e9, good)
			a.event(tcp.RadioScanEnd)
			a.station(6e9, good)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAir(t)
			c.play(a)
			found := a.only()
			if found.Limit != c.want {
				t.Fatalf("limit %s, want %s; %+v", found.Limit, c.want, found.Phases)
			}
			if c.evidence != "" && found.Evidence[0].Field != c.evidence {
				t.Errorf("because of %+v, want %s", found.Evidence, c.evidence)
			}
			var sum float64
			for _, s := range found.Shares {
				sum += s.Share
			}
			if sum < 0.999 || sum > 1.001 {
				t.Errorf("the shares add up to %g", sum)
			}
		})
	}
}

// pauses lets the path pause for 400 ms five times in seven seconds.
func (a *air) pauses() {
	for range 5 {
		a.set(values{tcp.RttUs: 40_000})
		a.run(1e9, func(int64) { a.sends(3) })
		a.now += 400 * ms
		a.grow(values{tcp.BusyUs: 400_000})
		a.set(values{tcp.RttUs: 420_000})
		a.run(50*ms, func(int64) { a.sends(3) })
	}
}

func TestTCPAndTheRadioAreCompared(t *testing.T) {
	for name, c := range map[string]struct {
		retries, failed int64 // of the radio in 100 ms
		want            string
	}{
		"no retries":  {0, 0, "TCP sent 50 packets again while wlan0 had no retries"},
		"few retries": {1, 0, "while wlan0 had hardly any retries"},
		"own retries": {40, 0, "gave up none, as its own retries repaired"},
		"given up":    {40, 1, "they were lost on the air"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAir(t)
			a.station(5e9, func(v *tcp.RadioValues) {
				good(v)
				v[tcp.RadioTxRetries] += c.retries
				v[tcp.RadioTxFailed] += c.failed
			})
			a.run(100*ms, nil)
			a.run(5e9, func(i int64) {
				a.sends(5)
				if i%10 == 0 {
					a.grow(values{tcp.RetransmitsPackets: 1})
				}
			})
			found := a.only()
			if found.Radio == nil || !strings.Contains(found.Radio.String(), c.want) {
				t.Errorf("got %v, want %q", found.Radio, c.want)
			}
			var text strings.Builder
			r := a.engine.Report()
			if err := r.WriteText(&text, true); err != nil || !strings.Contains(text.String(), c.want) {
				t.Errorf("the text lacks %q: %v\n%s", c.want, err, &text)
			}
		})
	}
}

// A connection by another interface says nothing of the radio. Nor does one from the same address
// in another network namespace, which has the same names.
func TestOtherInterfacesAreNotJoined(t *testing.T) {
	for name, c := range map[string]struct {
		local        string
		flow, radio  uint32 // network namespaces
		joined, both bool
	}{
		"the radio's":         {local: "192.0.2.1:1000", flow: 1, radio: 1, joined: true},
		"unknown namespaces":  {local: "192.0.2.1:1000", radio: 1, joined: true},
		"another address":     {local: "198.51.100.1:1000", flow: 1, radio: 1},
		"another namespace":   {local: "192.0.2.1:1000", flow: 2, radio: 1},
		"a radio in each one": {local: "192.0.2.1:1000", flow: 2, radio: 1, both: true},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAir(t)
			a.engine = New(Options{})
			a.flow.Local = netip.MustParseAddrPort(c.local)
			a.flow.NetNS = c.flow
			a.netns = c.flow
			if c.both {
				a.describe()
				a.station(0, nil)
			}
			a.netns = c.radio
			a.describe()
			a.station(5e9, func(v *tcp.RadioValues) { good(v); v[tcp.RadioTxFailed] += 5 })
			a.run(5e9, func(int64) { a.sends(5); a.grow(values{tcp.RetransmitsPackets: 1}) })
			if found := a.only(); (found.Radio != nil) != c.joined || found.Limit == RadioLimit && !c.joined {
				t.Errorf("%s, %v", found.Limit, found.Radio)
			}
		})
	}
}

func TestRadiosAreSummedUp(t *testing.T) {
	a := newAir(t)
	a.station(1e9, func(v *tcp.RadioValues) { good(v); v[tcp.RadioTxRetries]++; v[tcp.RadioSignalDbm] = -60 })
	a.event(tcp.RadioScanStart)
	a.event(tcp.RadioScanEnd)
	a.event(tcp.RadioDisconnect)
	a.event(tcp.RadioRoam)
	r := a.engine.Report()
	if len(r.Radios) != 1 {
		t.Fatalf("%d radios", len(r.Radios))
	}
	want := "wlan0 in ce?ll at 02:00:00:00:00:01, sent at 100 Mbit/s, received at 100 Mbit/s, signal -60 dBm; " +
		"2000 packets sent, 10 retries, 0 failed; 1 scan; 1 roam; 1 disconnect"
	if got := r.Radios[0].String(); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

// A long recording has bounded memory, and keeps its sums.
func TestLongHistoriesAreMerged(t *testing.T) {
	a := newAir(t)
	const records = 3 * maxRadioBins
	a.station(records*100*ms, good)
	l := a.engine.radios[0]
	if len(l.bins) > maxRadioBins || l.sum(0).TxPackets != 200*records {
		t.Errorf("%d bins, %d packets", len(l.bins), l.sum(0).TxPackets)
	}
	for i := range 10 * maxSpans {
		a.at += ms
		a.event([]tcp.RadioKind{tcp.RadioScanStart, tcp.RadioScanEnd}[i%2])
	}
	if len(l.away) > maxSpans {
		t.Errorf("%d scans are kept", len(l.away))
	}
}
