package simulate

import (
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"airtide/internal/share/message"
)

// Now and then five reports in a row are lost, and a terminal counts one less for a period. After
// that a terminal may believe in a wire for 30 s: its share is 13 % below the optimum then, and
// its rate is the same. So the mean over seeds counts. With equal airtime it is 0.99 and 1.00: the
// index makes a share depend on all terminals that are known.
func TestLossDuplicatesAndReorderingAreBorne(t *testing.T) {
	least := []float64{0.95, 0.9}
	for i, n := range []int{2, 16} {
		near := 0.0
		looks := 0
		for seed := range uint64(8) {
			c := queues(t, n, func(c *Config) {
				c.Seed = seed + 1
				c.Loss = 0.3
				c.Late = 0.1
				c.Duplicate = 0.1
			})
			c.converge(t, 1, time.Second, 40*time.Second)
			for range 60 {
				c.Until(c.Now() + time.Second)
				near += c.judge(t).Within
				looks++
			}
		}
		if part := near / float64(looks); part < least[i] {
			t.Errorf("%d terminals: %.2f of the time near their shares", n, part)
		}
	}
}

func TestJoinsLeavesAndCrashes(t *testing.T) {
	const joins, leaves, crashes = 10 * time.Second, 20 * time.Second, 30 * time.Second
	c := queues(t, 6, func(c *Config) {
		for i := range c.Terminals {
			switch i {
			case 3:
				c.Terminals[i].Joins = joins
				c.Terminals[i].Leaves = leaves
			case 4:
				c.Terminals[i].Leaves = leaves
			case 5:
				c.Terminals[i].Crashes = crashes
			}
		}
	})
	for _, e := range []struct {
		what   string
		at     time.Duration
		within time.Duration
	}{
		{"one has joined", joins, 3 * time.Second},
		{"two have left", leaves, 2 * time.Second},
		// Five of its periods without a report.
		{"one has crashed", crashes, 6 * time.Second},
	} {
		c.Until(e.at - time.Millisecond)
		if s := c.judge(t); s.Within < 1 {
			t.Errorf("before %s: %+v", e.what, s)
		}
		c.Until(e.at + e.within)
		if s := c.judge(t); s.Within < 1 {
			t.Errorf("%s after %s: %+v", e.within, e.what, s)
		}
	}
}

// claim fills a report with the greatest values that it may claim.
func claim(r *message.Report) {
	r.State = message.Controlling
	r.Weight = message.HighestWeight
	r.MaxKbps = message.HighestRate
	r.MaxSource = message.Configured
	r.UploadKbps = message.HighestRate
	r.DeliveryKbps = message.HighestRate
	r.BoundKbps = message.HighestRate
	r.ApplicationLimited = false
	r.DemandKbps = 0
	r.MinRTTUs = 1
	r.SmoothedRTTUs = message.LongestRTTUs
	r.RTT95Us = message.LongestRTTUs
	r.QueuedBytes = message.MostQueuedBytes
}

// leastOf is the part that is left to a terminal of weight 1 beside some honest ones and a liar
// (docs/reference/share-messages.md), by the airtime that so many contenders make use of at least.
func leastOf(max float64, honest int) float64 {
	const contention = 0.7
	return contention * max / float64(honest+14)
}

// One that lies leaves n terminals of weight 1 at least n / (n + 14) of the cell.
func TestALiarMovesSharesByNoMoreThanItsWeight(t *testing.T) {
	for _, honest := range []int{2, 8} {
		for name, lie := range map[string]func(*message.Report){
			"all at its most": claim,
			"reaches nothing and delivers all": func(r *message.Report) {
				claim(r)
				r.MaxKbps = message.LowestRate
			},
			"reaches what others do": func(r *message.Report) {
				r.Weight = message.HighestWeight
			},
			"reaches and wants all, and gets nothing": func(r *message.Report) {
				claim(r)
				r.UploadKbps = 0
				r.DeliveryKbps = 0
			},
			"the same with the weight of others": func(r *message.Report) {
				claim(r)
				r.Weight = 1000
				r.UploadKbps = 0
				r.DeliveryKbps = 0
			},
		} {
			c := queues(t, honest+1, func(c *Config) { c.Terminals[honest].Claims = lie })
			c.Until(20 * time.Second)
			for i := range honest {
				share, bounded := c.Share(i)
				if least := leastOf(c.terminals[i].Standalone, honest); !bounded || share < least {
					t.Errorf("%s: of %d honest terminals number %d has %.4g bit/s, and is to have %.4g",
						name, honest, i, share, least)
				}
			}
			c.judge(t)
			c.Until(40 * time.Second)
			for i, rate := range c.judge(t).Rates[:honest] {
				// Windows make rates of shares, and not to the last bit.
				if least := 0.8 * leastOf(c.terminals[i].Standalone, honest); rate < least {
					t.Errorf("%s: of %d honest terminals number %d gets %.4g bit/s, and is to get %.4g",
						name, honest, i, rate, least)
				}
			}
		}
	}
}

// A member may seal what it likes: sessions without end from its own address and from those of
// others. It counts at each address of its own once, and nobody else is driven out.
func TestAMemberThatFloodsCountsOnce(t *testing.T) {
	const honest = 4
	c := queues(t, honest, nil)
	c.Until(5 * time.Second)
	key := c.Key()
	at := netip.MustParseAddrPort("10.9.9.9:0")
	random := rand.NewPCG(7, 7)
	type member struct {
		receiver *message.Receiver
		sender   *message.Sender
	}
	var sessions []member
	for range 20 {
		r := message.NewReceiver(message.Config{Key: key, Random: random}, int64(c.Now()))
		sessions = append(sessions, member{r, message.NewSender(r, int64(c.Now()))})
	}
	c.Overhear(func(from netip.AddrPort, datagram []byte, at time.Duration) {
		for _, s := range sessions {
			s.receiver.Receive(from, datagram, int64(at))
		}
	})
	flood := message.Report{}
	claim(&flood)
	for range 60 {
		c.Until(c.Now() + 100*time.Millisecond)
		for i, s := range sessions {
			d, err := s.sender.Seal(nil, flood, int64(c.Now()))
			if err != nil {
				t.Fatal(err)
			}
			from := at
			if i%2 == 1 {
				from = Address(i % honest) // that of an honest one
			}
			c.Inject(from, d, c.Now())
		}
	}
	for i := range honest {
		share, bounded := c.Share(i)
		if least := leastOf(c.terminals[i].Standalone, honest); !bounded || share < least {
			t.Errorf("number %d has %.4g bit/s, and is to have %.4g", i, share, least)
		}
	}
	s := c.judge(t)
	if s.Known < 1 {
		t.Errorf("honest terminals do not know each other: %+v", s)
	}
}

// A terminal with an agent does not starve beside terminals without one. The model of queues has no
// access point whose queue overflows; the experiment share-half measures that.
func TestHalfOfTheTerminalsDoNotStarve(t *testing.T) {
	rates := func(apart func(i int) bool) []float64 {
		c := queues(t, 8, func(c *Config) {
			for i := range c.Terminals {
				c.Terminals[i].NoAgent = apart(i)
			}
		})
		c.Until(20 * time.Second)
		c.judge(t)
		c.Until(40 * time.Second)
		return c.judge(t).Rates
	}
	without := rates(func(int) bool { return true })
	half := rates(func(i int) bool { return i%2 == 1 })
	t.Logf("without control %.3g, where every second takes part, the first among them, %.3g", without, half)
	for i := 0; i < len(half); i += 2 {
		if half[i] < 0.6*without[i] {
			t.Errorf("number %d gets %.4g bit/s, without control %.4g", i, half[i], without[i])
		}
	}
}
