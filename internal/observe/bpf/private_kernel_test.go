//go:build kernel

package bpf

import (
	"fmt"
	"math"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"airtide/internal/tcp"
	"airtide/test/testnet"
)

// After a loss at a large window and a long RTT CUBIC climbs back along its curve; the window must
// be where the sampled parameters say.
func TestCubicsStateExplainsItsWindow(t *testing.T) {
	t.Parallel()
	const rtt = 100 * time.Millisecond
	n := newNetwork(t, rtt)
	obs := observeNetwork(t, n, Options{})
	var client *net.TCPConn
	for try, highest := 0, uint32(0); highest < 140; try++ {
		if try == 5 {
			t.Fatalf("slow start ended early (ssthresh %d) in each of %d connections", highest, try)
		}
		var server *net.TCPConn
		client, server = n.Connect(testnet.Dial{CongestionControl: "cubic"})
		// slow start from 10 packets has a window of some 200 by then, and of some 400 when it
		// learns of the loss
		n.Client.Out.DropData(400, 1)
		send(t, client, server, 8000*mss)
		quiet(t, client)
		// lower where the machine stood still and HyStart took it for a queue
		highest = testnet.Info(t, client).Snd_ssthresh
	}
	obs.check(func(t *testing.T, r *recording) {
		checked := 0
		seen := 0
		off := 0
		example := ""
		var first *tcp.Sample
		for _, s := range r.packets(r.flow(t, client).ID) {
			target, ok := s.Get(tcp.CubicTargetPackets)
			v := s.Values
			if !ok || v[tcp.CAStateField] != int64(tcp.CAOpen) || v[tcp.LostPackets] == 0 {
				continue
			}
			if first == nil {
				first = &s
			}
			// The epoch moves on by the time for which there was nothing to send.
			if moved := v[tcp.CubicEpochNs] - first.Values[tcp.CubicEpochNs]; v[tcp.CubicWmaxPackets] < 200 ||
				v[tcp.CubicOriginPackets] < 100 || moved < 0 || moved > 1e9 {
				t.Fatalf("Wmax %d, origin %d, epoch at %d, first at %d", v[tcp.CubicWmaxPackets],
					v[tcp.CubicOriginPackets], v[tcp.CubicEpochNs], first.Values[tcp.CubicEpochNs])
			}
			if d := v[tcp.CubicDelayMinUs]; d < int64(rtt/1000) || d > int64(rtt/1000)+20_000 {
				t.Fatalf("minimum delay %d µs at an RTT of %s", d, rtt)
			}
			// K is the time that the curve takes from the window after the loss (0.7 of the one
			// before) to the origin.
			origin := float64(v[tcp.CubicOriginPackets])
			k := float64(v[tcp.CubicKMs]) / 1000
			if want := math.Cbrt((origin - float64(first.Values[tcp.CwndPackets])) / 0.4); math.Abs(k-want) > 0.15 {
				t.Fatalf("K is %.2f s, from %d to %.0f packets it is %.2f s", k, first.Values[tcp.CwndPackets], origin,
					want)
			}
			age := float64(s.TimeNs-v[tcp.CubicEpochNs]) / 1e9
			delay := float64(v[tcp.CubicDelayMinUs]) / 1e6
			seen++
			if want := cubicFloat(origin, k, age, delay); math.Abs(float64(target)-want) > 2 {
				off++
				example = fmt.Sprintf("%.2f s into the epoch the target is %d packets, the curve's %.1f", age, target,
					want)
			}
			// The window may be ahead of the curve where Reno would be.
			if age > 0.3 && age < k && v[tcp.CubicRenoPackets] < v[tcp.CwndPackets] {
				// the growth of the curve in the shortest RTT, by which the target is ahead
				ahead := 1.2 * math.Pow(age-k, 2) * delay
				if lag := float64(target - v[tcp.CwndPackets]); lag < -2 || lag > 2.5*ahead+2 {
					off++
					example = fmt.Sprintf("%.2f s into the epoch the window is %d, the target %d, at most %.1f ahead",
						age, v[tcp.CwndPackets], target, 2.5*ahead+2)
				}
				checked++
			}
		}
		// Some 400 on an idle machine; on a busy one an ACK covers more segments.
		if checked < 50 {
			t.Errorf("only %d samples were in congestion avoidance along the curve", checked)
		}
		// Where the machine stood still, the window is for a while not where the curve is.
		if off > seen/4 {
			t.Errorf("%d of %d samples are off the curve: %s", off, seen, example)
		}
	})
}

// TCP_CC_INFO (struct tcp_bbr_info in include/uapi/linux/inet_diag.h) is the source of ss.
func TestBBRsStateAgreesWithTheKernel(t *testing.T) {
	t.Parallel()
	if at, err := bbrState.resolve(ownTypes(t)); err == nil && at == nil {
		t.Skip("the kernel does not describe the types of the module tcp_bbr (5.11 does)")
	}
	n := newNetwork(t, 20*time.Millisecond)
	if err := n.Client.Rate(20e6, 300_000); err != nil {
		t.Fatal(err)
	}
	obs := observeNetwork(t, n, Options{})
	client, server := n.Connect(testnet.Dial{CongestionControl: "bbr"})
	send(t, client, server, 2500*mss)
	quiet(t, client, server)
	var want struct{ bandwidthLow, bandwidthHigh, minRTT, pacingGain, cwndGain uint32 }
	err := testnet.Control(client, func(fd int) error {
		size := uint32(unsafe.Sizeof(want))
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP, unix.TCP_CC_INFO,
			uintptr(unsafe.Pointer(&want)), uintptr(unsafe.Pointer(&size)), 0)
		if errno != 0 {
			return errno
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	send(t, server, client, 1)
	obs.check(func(t *testing.T, r *recording) {
		id := r.flow(t, client).ID
		v := r.last(t, id).Values
		bandwidth := int64(uint64(want.bandwidthHigh)<<32|uint64(want.bandwidthLow)) * 8
		if math.Abs(float64(v[tcp.BBRBandwidthBps]-bandwidth)) > 8 {
			t.Errorf("bandwidth %d bit/s, the kernel says %d", v[tcp.BBRBandwidthBps], bandwidth)
		}
		if v[tcp.BBRMinRttUs] != int64(want.minRTT) {
			t.Errorf("minimum RTT %d µs, the kernel says %d", v[tcp.BBRMinRttUs], want.minRTT)
		}
		if v[tcp.BBRPacingGainPct] != int64(want.pacingGain)*100/256 ||
			v[tcp.BBRCwndGainPct] != int64(want.cwndGain)*100/256 {
			t.Errorf("gains %d and %d %%, the kernel says %d and %d of 256", v[tcp.BBRPacingGainPct],
				v[tcp.BBRCwndGainPct], want.pacingGain, want.cwndGain)
		}
		least := int64(15e6)
		if os.Getenv(formVariable) != "" {
			least = 1e6 // an emulated machine reaches less than the path's
		}
		if b := v[tcp.BBRBandwidthBps]; b < least || b > 25e6 {
			t.Errorf("bandwidth %d bit/s on a path of 20 Mbit/s", b)
		}
		modes := map[int64]bool{}
		for i, s := range r.packets(id) {
			mode := s.Values[tcp.BBRMode]
			modes[mode] = true
			if i == 1 && (mode != 0 || s.Values[tcp.BBRPacingGainPct] < 280 || s.Values[tcp.BBRFullBandwidth] != 0) {
				t.Errorf("begins in mode %d with gain %d %%, want startup with 288 %%", mode,
					s.Values[tcp.BBRPacingGainPct])
			}
		}
		if !modes[0] || !modes[2] || v[tcp.BBRFullBandwidth] != 1 {
			t.Errorf("modes %v, full bandwidth %d, want startup and probe_bw", modes, v[tcp.BBRFullBandwidth])
		}
	})
}

func TestASourceOpensBesideAnAlgorithmOfUnknownState(t *testing.T) {
	known := privateStates
	defer func() { privateStates = known }()
	privateStates = append(slices.Clone(known),
		privateState{name: "reno", structName: "tcp_sock", members: []string{"no_such_member"}})
	for _, form := range forms {
		s := open(t, Options{Attach: form})
		const want = "private state of reno: this kernel's struct tcp_sock has no member no_such_member"
		if got := s.Description(); !strings.Contains(got, want) {
			t.Errorf("%q does not say %q", got, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
