//go:build kernel

package share

import (
	"net"
	"net/netip"
	"testing"
	"time"

	"airtide/internal/share/cellkey"
	"airtide/internal/share/control"
	"airtide/internal/share/link"
	"airtide/internal/share/message"
	"airtide/internal/sys/clock"
	"airtide/test/testnet"
)

// Two terminals of a cell share. Others use another key, and an attacker changes and replays
// reports. This does not affect the two terminals.
func TestTwoCellsOnOneMedium(t *testing.T) {
	n, _, _ := narrow(t)
	key := cellkey.New()
	other := cellkey.New()
	a := run(t, n.Client, Config{Key: key, Policy: control.Shares, MaxBps: lowRate})
	b := run(t, n.Server, Config{Key: key, Policy: control.Observe, MaxBps: lowRate})
	testnet.Eventually(t, longEnough, "a bound", func() bool {
		return bound(a.now()) && len(a.now().Peers) == 1 && len(b.now().Peers) == 1
	})

	var chatter net.Conn
	if err := n.Server.Do(func() (err error) {
		chatter, err = net.Dial("udp4", netip.AddrPortFrom(n.Client.V4, link.Port).String())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer chatter.Close()
	receiver := message.NewReceiver(message.Config{Key: other}, clock.Now())
	foreign := message.NewSender(receiver, clock.Now())
	receiver = message.NewReceiver(message.Config{Key: key}, clock.Now())
	own := message.NewSender(receiver, clock.Now())
	absurd := message.Report{
		State: message.Controlling, Weight: message.HighestWeight, MaxKbps: message.HighestRate,
		MaxSource: message.Configured, UploadKbps: message.HighestRate,
	}
	say := func(s *message.Sender, change bool) {
		datagram, err := s.Seal(nil, absurd, clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		if change {
			datagram[len(datagram)-1] ^= 1
		}
		if _, err := chatter.Write(datagram); err != nil {
			t.Fatal(err)
		}
	}
	share := a.now().ShareBps
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	testnet.Eventually(t, longEnough, "chatter to be heard", func() bool {
		<-ticker.C
		say(foreign, false)
		say(own, true)
		d := a.now().Datagrams
		return d["other_cell"] > 20 && d["wrong_key"] > 20
	})
	// The chatter goes on. On a busy machine reports come late, and for a moment nobody is bounded.
	var s Status
	holds := testnet.Await(time.Minute, func() bool {
		<-ticker.C
		say(foreign, false)
		say(own, true)
		s = a.now()
		return len(s.Peers) == 1 && s.Bounded && s.ShareBps > 0.8*share && s.ShareBps < 1.2*share &&
			len(b.now().Peers) == 1
	})
	if !holds {
		t.Errorf("beside another cell: %d peers, bounded %t (%s), a share of %.4g after %.4g; the other has %d peers",
			len(s.Peers), s.Bounded, s.Reason, s.ShareBps, share, len(b.now().Peers))
	}
}
