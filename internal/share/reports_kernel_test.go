//go:build kernel

package share

import (
	"fmt"
	"testing"
	"time"

	"airtide/internal/share/cellkey"
	"airtide/internal/share/control"
	"airtide/internal/share/message"
	"airtide/test/testnet"
)

// The test counts the sent datagrams of two agents. A network of IPv4 and IPv6 carries each report
// once. If the band is unknown, the assumed rate of multicast is 1 Mbit/s.
func TestSentReportsTakeOnePercentOfTheAirtime(t *testing.T) {
	const alone = 65e6
	for _, multicast := range []float64{0, 6e6} {
		t.Run(fmt.Sprintf("told %g bit/s", multicast), func(t *testing.T) {
			n := testnet.New(t, testnet.Options{})
			heard := overhear(t, n.Client)
			key := cellkey.New()
			c := Config{Key: key, Policy: control.Observe, MaxBps: alone, MulticastBps: multicast}
			a := runAsTold(t, n.Client, c)
			b := runAsTold(t, n.Server, c)
			waitForEachOther(t, a, b)
			awaitOneFamily(t, heard)
			began := time.Now()
			testnet.Idle(t, 8*time.Second, "reports are counted over it")
			all := heard.take()
			took := time.Since(began)
			way := message.Link{MulticastKbps: 1000, DataKbps: alone / 1000}
			if multicast > 0 {
				way.MulticastKbps = message.Rate(multicast / 1000)
			}
			airtime := time.Duration(0)
			longest := time.Duration(0)
			for _, d := range all {
				if !d.to.IsMulticast() {
					t.Fatalf("a datagram to %s", d.to)
				}
				one := time.Duration(way.ReportNs(d.bytes))
				airtime += one
				longest = max(longest, one)
			}
			// The time may contain one report of each terminal more than on average.
			if most := took/100 + 2*longest; airtime > most || len(all) < 5 {
				t.Errorf("in %s %d datagrams took %s of the airtime, want %s at most", took, len(all), airtime, most)
			}
			t.Logf("%d datagrams in %s took %.2f %% of the airtime",
				len(all), took.Round(time.Millisecond), 100*airtime.Seconds()/took.Seconds())
		})
	}
}

// awaitOneFamily waits until the terminals have found that one version of IP is enough: the last
// ten datagrams are of one. It forgets all that was heard.
func awaitOneFamily(t *testing.T, heard *overheard) {
	t.Helper()
	var last []crossing
	testnet.Eventually(t, longEnough, "reports by one version of IP", func() bool {
		last = append(last, heard.take()...)
		last = last[max(len(last)-10, 0):]
		sixes := 0
		for _, d := range last {
			if d.to.Is6() {
				sixes++
			}
		}
		return len(last) == 10 && sixes%10 == 0
	})
}

// They use the family of the first.
func TestATerminalOfOneFamilyFindsOneOfBoth(t *testing.T) {
	for _, c := range []struct {
		name string
		args []string // arguments of ip that leave one family
		six  bool
	}{
		{"IPv6 alone", []string{"-4", "addr", "flush", "dev", "eth0"}, true},
		{"IPv4 alone", []string{"-6", "addr", "flush", "dev", "eth0"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := testnet.New(t, testnet.Options{})
			if _, err := n.Client.Run("ip", c.args...); err != nil {
				t.Fatal(err)
			}
			heard := overhear(t, n.Server)
			key := cellkey.New()
			a := run(t, n.Client, Config{Key: key, Policy: control.Observe})
			b := run(t, n.Server, Config{Key: key, Policy: control.Observe})
			waitForEachOther(t, a, b)
			awaitOneFamily(t, heard)
			testnet.Idle(t, 2*time.Second, "reports by the other version of IP would show")
			if len(a.now().Peers) != 1 || len(b.now().Peers) != 1 {
				t.Error("the terminals lost each other")
			}
			for _, d := range heard.take() {
				if d.to.Is6() != c.six {
					t.Errorf("a datagram from %s to %s, where no other terminal receives it", d.from, d.to)
				}
			}
		})
	}
}
