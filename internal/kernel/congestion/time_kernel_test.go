//go:build kernel

package congestion

import (
	"math/rand/v2"
	"testing"
	"time"

	"airtide/internal/kernel/congestion/kind"
	"airtide/internal/tcp"
	"airtide/test/testnet"
)

// If the kernel's clock runs N times as fast, CUBIC gets N times as many ticks per second and RTTs
// in real time. Its window then grows as at N = 1.
func TestCubicGrowsByRealTime(t *testing.T) {
	const hz = 250
	r := rand.New(rand.NewPCG(3, 4))
	var at1, atN []question
	for range samples {
		n := draw(r, 1, 1000)
		q := question{
			Question: arithmeticCcQuestionCC_ASK_TARGET_AT,
			// whole ticks, which are not rounded
			A: draw(r, 0, maxPackets), C: hz, D: draw(r, 0, 600*hz), E: 4000 * draw(r, 0, 250),
		}
		at1 = append(at1, q)
		q.C *= n
		q.D *= n
		atN = append(atN, q)
	}
	want := ask(t, at1)
	got := ask(t, atN)
	for i := range got {
		if got[i].Answer != want[i].Answer {
			t.Fatalf("%+v: got %d, want %d as at N = 1", atN[i], got[i].Answer, want[i].Answer)
		}
	}
}

func TestTimeRatioIsKeptAndListed(t *testing.T) {
	for _, k := range kind.All() {
		p := k.Defaults()
		p.TimeNum = 5
		p.TimeDen = 2
		if !k.TakesTimeRatio() {
			if err := p.Check(k); err == nil {
				t.Errorf("%s accepts a time ratio that it cannot follow", k)
			}
			continue
		}
		l := mustLoad(t, k, p)
		e, err := Find("", l.Name)
		if err != nil {
			t.Fatal(err)
		}
		if e.Parameters != p {
			t.Errorf("%s is listed with %+v, want %+v", k, e.Parameters, p)
		}
	}
}

// CUBIC keeps the delay of the path in real time: the time of the clock divided by N.
func TestDelaysAreOfRealTime(t *testing.T) {
	p := CubicPlain.Defaults()
	p.TimeNum = 10
	p.TimeDen = 1
	l := mustLoad(t, CubicPlain, p)
	n := testnet.New(t, testnet.Options{Segments: true})
	const delay = 20 * time.Millisecond
	n.Client.Out.Delay(delay)
	client, server := n.Connect(testnet.Dial{CongestionControl: l.Name})
	samples := recorded(t, client, func() { testnet.MustSend(t, client, server, 256<<10) })
	seen := false
	for _, s := range samples {
		if got, there := s.Get(tcp.CubicDelayMinUs); there {
			seen = true
			// At N = 1 it would be at least the delay.
			if got < delay.Microseconds()/10 || got >= delay.Microseconds() {
				t.Fatalf("least delay: got %d us, want %d or a little more", got, delay.Microseconds()/10)
			}
		}
	}
	if !seen {
		t.Error("no sample has the least delay")
	}
}
