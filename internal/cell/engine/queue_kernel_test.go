//go:build kernel

package engine

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/test/testnet"
)

func TestAFullQueueBlocksTheSender(t *testing.T) {
	const packets = 1000
	for _, supers := range []bool{false, true} {
		t.Run(fmt.Sprintf("super-packets %v", supers), func(t *testing.T) {
			c := pair(lineConfig{RateBps: 10e6, Limit: 50})
			c.Supers = supers
			e := start(t, c)
			sink(t, e, "server")
			begin := time.Now()
			in(t, e, "station", func() error { return sendUDP("10.88.1.1", packets) })
			took := time.Since(begin)
			// 1000 packets of 1428 bytes take 1.14 s, of which what still lies in the queues when
			// the last one is written is not waited for.
			if took < 800*time.Millisecond || took > 10*time.Second {
				t.Errorf("sending took %s, want some 1.1 s", took)
			}
			testnet.Eventually(
				t, 5*time.Second, "all packets to arrive",
				func() bool { return status(t, e).port("server").PacketsOut == packets },
			)
			s := status(t, e)
			station := s.port("station")
			if station.KernelDropped != 0 || s.Dropped[0] != 0 || station.Holds == 0 {
				t.Errorf("dropped by the kernel %d, by the world %d; held %d times", station.KernelDropped,
					s.Dropped[0], station.Holds)
			}
			var world lineCounts
			if err := json.Unmarshal(s.World, &world); err != nil || world.Longest != 50 {
				t.Errorf("the longest queue was %d packets (%v), want its limit of 50", world.Longest, err)
			}
		})
	}
}

// TestARefusedPacketIsCode2 lets one flow overrun a queue of 60 packets in both modes.
func TestARefusedPacketIsCode2(t *testing.T) {
	for _, mode := range []struct {
		name           string
		refuse, supers bool
	}{
		{"a device that refuses", true, false},
		{"the same with super-packets", true, true},
		{"a device that blocks", false, false},
	} {
		t.Run(mode.name, func(t *testing.T) {
			// 100 ms there and back at 10 Mbit/s, which an emulated machine can send too, are 83
			// packets, the queue 60.
			c := pair(lineConfig{RateBps: 10e6, DelayNs: 50e6, Limit: 60})
			c.Ports[0].Refuse = mode.refuse
			c.Supers = mode.supers
			e := start(t, c)
			client, server := connect(t, e, "station", "server", "10.88.1.1")
			congestionControl(t, client, "reno") // whose slow start ends with the first refusal, and not before
			states := map[uint8]int{}
			stop := make(chan struct{})
			watched := make(chan struct{})
			go func() {
				defer close(watched)
				for {
					select {
					case <-stop:
						return
					case <-time.After(time.Millisecond):
						states[tcpInfo(t, client).Ca_state]++
					}
				}
			}()
			transfer(t, client, server, 3e6)
			close(stop)
			<-watched
			fast := counter(t, e, "station", "TcpExt", "TCPFastRetrans")
			reordered := counter(t, e, "server", "TcpExt",
				"TCPOFOQueue")
			if fast != 0 || reordered != 0 || states[3] > 0 {
				t.Errorf("%d fast retransmissions, %d packets out of order, states %v", fast, reordered, states)
			}
			// On a machine that stands still for a while TCP's timers expire, and only then may
			// anything be sent twice.
			timers := counter(
				t, e, "station", "TcpExt", "TCPLossProbes",
			) + counter(t, e, "station", "TcpExt", "TCPTimeouts")
			if all := tcpInfo(t, client).Total_retrans; all > 0 && timers == 0 {
				t.Errorf("%d retransmissions, states %v", all, states)
			}
			s := status(t, e)
			refused := s.port("station").Refused
			// An emulated machine looks too seldom to meet the state, but the state leaves an
			// ssthresh behind.
			const unset = 0x7fffffff
			if cwr := states[2] > 0 || timers == 0 && tcpInfo(t, client).Snd_ssthresh < unset; cwr != mode.refuse ||
				(refused > 0) != mode.refuse {
				t.Errorf("in CWR %v, refused %d packets, want both %v (states %v)", cwr, refused, mode.refuse, states)
			}
			// The program learns its quota once a turn, so on a busy machine the device refuses a
			// little early.
			var world lineCounts
			if err := json.Unmarshal(s.World, &world); err != nil || world.Longest < 20 || world.Longest > 60 ||
				s.port("station").KernelDropped != 0 {
				t.Errorf("the longest queue was %d packets (%v), want nearly its limit of 60; the kernel lost %d",
					world.Longest, err, s.port("station").KernelDropped)
			}
		})
	}
}

// TestPacketsKeepTheirOrder sends as fast as it can, from both processors: the program's and those
// of the ACKs.
func TestPacketsKeepTheirOrder(t *testing.T) {
	for _, way := range [][3]string{{"station", "server", "10.88.1.1"}, {"server", "station", "10.88.0.1"}} {
		e := start(t, pair(lineConfig{DelayNs: 1e6, Limit: 1000}))
		client, server := connect(t, e, way[0], way[1], way[2])
		transfer(t, client, server, 100e6)
		if n := counter(t, e, way[1], "TcpExt", "TCPOFOQueue"); n > 0 {
			t.Errorf("from %s to %s %d packets were overtaken", way[0], way[1], n)
		}
	}
}

func TestCreditIsGivenBackForPacketsThatNeverCome(t *testing.T) {
	c := pair(lineConfig{Limit: 10})
	c.Ports[0].Refuse = true
	e := start(t, c)
	// With the far end down the device takes packets and loses them.
	air := filepath.Join(namespaceFolder, namespaceName(e.Ready.PID, airName))
	set := func(flags uint16) {
		t.Helper()
		err := inPath(air, func() error { return setFlags("tap0", flags) })
		if err != nil {
			t.Fatal(err)
		}
	}
	set(0)
	in(t, e, "station", func() error { return ignoreRefusal(sendUDP("10.88.1.1", 30)) })
	testnet.Eventually(
		t, 5*time.Second, "the loss to be noticed",
		func() bool { return status(t, e).port("station").KernelDropped >= 10 },
	)
	set(unix.IFF_UP)
	client, server := connect(t, e, "station", "server", "10.88.1.1")
	transfer(t, client, server, 1e6)
}

// ignoreRefusal makes nothing of ENOBUFS, which a datagram socket gets for a refused packet when it
// asks for errors.
func ignoreRefusal(err error) error {
	if err != nil && strings.Contains(err.Error(), syscall.ENOBUFS.Error()) {
		return nil
	}
	return err
}

func setFlags(name string, flags uint16) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	request.SetUint16(flags)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

func TestLostForWantOfSlotsIsCounted(t *testing.T) {
	c := pair(lineConfig{DelayNs: 300e6})
	c.Slots = 100
	e := start(t, c)
	sink(t, e, "station")
	in(t, e, "server", func() error { return sendUDP("10.88.0.1", 250) })
	testnet.Eventually(
		t, 5*time.Second, "what there is room for to arrive",
		func() bool { return status(t, e).port("station").PacketsOut >= 100 },
	)
	s := status(t, e)
	if s.Exhausted != 150 || s.SlotsLow != 0 || s.port("station").PacketsOut != 100 {
		t.Errorf("%d lost and %d arrived, want 150 and 100; at least %d slots were free", s.Exhausted,
			s.port("station").PacketsOut, s.SlotsLow)
	}
	if !strings.Contains(strings.Join(s.Warnings, "\n"), "lost packets, because all 100 slots were under way: 150") {
		t.Errorf("warnings %q", s.Warnings)
	}
	// The slots are back.
	in(t, e, "server", func() error { return sendUDP("10.88.0.1", 100) })
	testnet.Eventually(
		t, 5*time.Second, "another hundred to arrive",
		func() bool { return status(t, e).port("station").PacketsOut == 200 },
	)
}
