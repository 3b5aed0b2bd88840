package bpf

import (
	"fmt"
	"maps"
	"math"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/cilium/ebpf/btf"
	"golang.org/x/sys/unix"

	"airtide/internal/tcp"
	"airtide/test/testnet"
)

// cubicFloat is equation 1 of RFC 9438 with C = 0.4, as the kernel evaluates it: one minimum RTT
// ahead. Packets and seconds.
func cubicFloat(origin, k, age, delayMin float64) float64 {
	return origin + 0.4*math.Pow(age+delayMin-k, 3)
}

func TestCubicTargetIsTheCubicFunction(t *testing.T) {
	for _, c := range []struct{ origin, k, ageMs, delayMin int64 }{
		{100, 3000, 0, 20_000},
		{100, 3000, 1000, 20_000},
		{100, 3000, 2930, 20_000},
		{100, 3000, 5000, 20_000},
		{5000, 15_000, 0, 200_000},
		{5000, 15_000, 30_000, 200_000},
		{10, 0, 4000, 0},
		{1_000_000, 90_000, 10, 300_000},
		{10, 0, 120_000, 0},
	} {
		got := cubicTarget(c.origin, c.k*1024/1000, c.ageMs*1000, c.delayMin)
		want := cubicFloat(float64(c.origin), float64(c.k)/1000, float64(c.ageMs)/1000, float64(c.delayMin)/1e6)
		// The kernel's K and time have steps of 1/1024 s, and its C is 410/1024.
		slope := 1.2 * math.Pow(float64(c.ageMs+c.delayMin/1000-c.k)/1000, 2) / 1024
		if tolerance := 1 + 3*slope + 0.002*math.Abs(want-float64(c.origin)); math.Abs(float64(got)-want) > tolerance {
			t.Errorf("%+v: %d, want %.1f to within %.1f", c, got, want, tolerance)
		}
	}
}

func TestBBRBandwidthConverts(t *testing.T) {
	for _, c := range []struct {
		packetsPerSecond float64
		mss              uint64
	}{{10, 1448}, {83, 536}, {863_000, 1448}, {8.6e6, 1448}, {200e6, 1448}} {
		bw := uint64(c.packetsPerSecond / 1e6 * (1 << bwScale))
		want := float64(bw) / (1 << bwScale) * 1e6 * float64(c.mss) * 8
		if got := float64(bbrBandwidth(bw, c.mss)); math.Abs(got-want) > 1 {
			t.Errorf("%.0f packets of %d bytes a second: %.0f bit/s, want %.0f", c.packetsPerSecond, c.mss, got, want)
		}
	}
}

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
		checked, seen, off, example := 0, 0, 0, ""
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
				t.Fatalf(
					"Wmax %d, origin %d, epoch at %d, first at %d", v[tcp.CubicWmaxPackets],
					v[tcp.CubicOriginPackets], v[tcp.CubicEpochNs], first.Values[tcp.CubicEpochNs],
				)
			}
			if d := v[tcp.CubicDelayMinUs]; d < int64(rtt/1000) || d > int64(rtt/1000)+20_000 {
				t.Fatalf("minimum delay %d µs at an RTT of %s", d, rtt)
			}
			// K is the time that the curve takes from the window after the loss (0.7 of the one
			// before) to the origin.
			origin, k := float64(v[tcp.CubicOriginPackets]), float64(v[tcp.CubicKMs])/1000
			if want := math.Cbrt((origin - float64(first.Values[tcp.CwndPackets])) / 0.4); math.Abs(k-want) > 0.15 {
				t.Fatalf(
					"K is %.2f s, from %d to %.0f packets it is %.2f s", k, first.Values[tcp.CwndPackets], origin,
					want,
				)
			}
			age := float64(s.TimeNs-v[tcp.CubicEpochNs]) / 1e9
			delay := float64(v[tcp.CubicDelayMinUs]) / 1e6
			seen++
			if want := cubicFloat(origin, k, age, delay); math.Abs(float64(target)-want) > 2 {
				off++
				example = fmt.Sprintf(
					"%.2f s into the epoch the target is %d packets, the curve's %.1f", age, target, want,
				)
			}
			// The window may be ahead of the curve where Reno would be.
			if age > 0.3 && age < k && v[tcp.CubicRenoPackets] < v[tcp.CwndPackets] {
				// what the curve gains in the shortest RTT, by which the target is ahead
				ahead := 1.2 * math.Pow(age-k, 2) * delay
				if lag := float64(target - v[tcp.CwndPackets]); lag < -2 || lag > 2.5*ahead+2 {
					off++
					example = fmt.Sprintf(
						"%.2f s into the epoch the window is %d, the target %d, at most %.1f ahead", age,
						v[tcp.CwndPackets], target, 2.5*ahead+2,
					)
				}
				checked++
			}
		}
		if checked < 200 {
			t.Errorf("only %d samples were in congestion avoidance along the curve", checked)
		}
		// Where the machine stood still, the window is for a while not where the curve is.
		if off > seen/4 {
			t.Errorf("%d of %d samples are off the curve: %s", off, seen, example)
		}
	})
}

// TCP_CC_INFO (struct tcp_bbr_info in include/uapi/linux/inet_diag.h) is what ss shows.
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
			t.Errorf(
				"gains %d and %d %%, the kernel says %d and %d of 256", v[tcp.BBRPacingGainPct],
				v[tcp.BBRCwndGainPct], want.pacingGain, want.cwndGain,
			)
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
				t.Errorf(
					"begins in mode %d with gain %d %%, want startup with 288 %%", mode,
					s.Values[tcp.BBRPacingGainPct],
				)
			}
		}
		if !modes[0] || !modes[2] || v[tcp.BBRFullBandwidth] != 1 {
			t.Errorf("modes %v, full bandwidth %d, want startup and probe_bw", modes, v[tcp.BBRFullBandwidth])
		}
	})
}

// Enumerations stand in C alone; package tcp must give the same names to the same numbers.
func TestEnumerationsEqualThoseOfPackageTCP(t *testing.T) {
	spec, err := loadMonitor()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		enum, prefix string
		name         func(uint64) string
		count        int
	}{
		{"event_kind", "EVENT_", func(v uint64) string { return tcp.EventKind(v).String() }, int(tcp.EventTLPLoss)},
		{"cause", "CAUSE_", func(v uint64) string { return tcp.Cause(v).String() }, int(tcp.CauseOther) + 1},
		{
			"reason", "REASON_", func(v uint64) string { return tcp.Reason(v).String() },
			int(tcp.ReasonDeviceRefused) + 1,
		},
	} {
		values := enumOf(t, spec.Types, c.enum)
		if len(values) != c.count {
			t.Errorf("enum %s has %d values, package tcp %d", c.enum, len(values), c.count)
		}
		for name, value := range values {
			if got := c.prefix + strings.ToUpper(c.name(value)); got != name {
				t.Errorf("enum %s: %s is %d, which package tcp calls %s", c.enum, name, value, got)
			}
		}
	}
}

func enumOf(t *testing.T, types *btf.Spec, name string) map[string]uint64 {
	t.Helper()
	var enum *btf.Enum
	if err := types.TypeByName(name, &enum); err != nil {
		t.Fatal(err)
	}
	values := map[string]uint64{}
	for _, v := range enum.Values {
		values[v.Name] = v.Value
	}
	return values
}

// A batch has the private fields of the algorithms of its own rows, also where two share fields,
// and a later one has none of them left.
func TestEachRowHasThePrivateFieldsOfItsAlgorithm(t *testing.T) {
	private := map[string]*privateDecoder{}
	for i := range privateStates {
		if p := &privateStates[i]; p.places != nil {
			private[p.name] = &privateDecoder{state: p, at: p.places}
		}
	}
	d := &decoder{ticks: newTicks(250), private: private}
	batch := d.newBatch(6)
	for _, algorithms := range [][]string{
		{"", "cubic_rtt", "cubic_plain", "compound", "", "cubic_rtt"},
		{"compound", "", "compound"},
		{"", "", ""},
		{"cubic_plain", "compound", "", "compound", "cubic_rtt", ""},
	} {
		for i, name := range algorithms {
			s := monitorSampleRecord{Jiffies: 1000}
			for word := range s.Cc {
				s.Cc[word] = uint64(i+1)<<32 | uint64(i+1) // each member is its row's number, from 1
			}
			d.sample(unsafe.Slice((*byte)(unsafe.Pointer(&s)), sampleSize), 1, private[name], batch)
		}
		err := d.deliver(batch, func(b *tcp.Batch) error {
			for i, name := range algorithms {
				cubic, compound := int64(tcp.Absent), int64(tcp.Absent)
				switch {
				case strings.HasPrefix(name, "cubic"):
					cubic = int64(i + 1)
				case name == "compound":
					compound = int64(i+1) >> 8
				}
				if got := b.Cols[tcp.CubicWmaxPackets][i]; got != cubic {
					t.Errorf("%q: row %d has a Wmax of %d, want %d", algorithms, i, got, cubic)
				}
				if got := b.Cols[tcp.CompoundGammaPackets][i]; got != compound {
					t.Errorf("%q: row %d has a gamma of %d, want %d", algorithms, i, got, compound)
				}
				if got := b.Cols[tcp.BBRMode][i]; got != tcp.Absent {
					t.Errorf("%q: row %d has a mode of BBR, %d", algorithms, i, got)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// structOf is a structure of 32-bit members, one behind the other.
func structOf(name string, members []string) *btf.Struct {
	word := &btf.Int{Name: "unsigned int", Size: 4}
	s := &btf.Struct{Name: name, Size: 4 * uint32(len(members))}
	for i, m := range members {
		s.Members = append(s.Members, btf.Member{Name: m, Type: word, Offset: btf.Bits(32 * i)})
	}
	return s
}

// Another algorithm may go by a name that is known, as later versions of BBR do: its private state
// is absent, and nothing else.
func TestAnAlgorithmOfUnknownStateLosesThatAlone(t *testing.T) {
	cubic := structOf("bictcp", cubicState.members)
	without := structOf(
		"bbr", slices.DeleteFunc(slices.Clone(bbrState.members), func(m string) bool { return m == "bw" }),
	)
	behind := structOf("bbr", bbrState.members)
	last := &behind.Members[len(behind.Members)-1]
	last.Type, last.Offset = &btf.Int{Name: "unsigned long", Size: 8}, btf.Bits(8*(privateSize-4))
	behind.Size = uint32(privateSize + 4)
	for _, c := range []struct {
		bbr  *btf.Struct
		want string
	}{
		{without, "private state of bbr: this kernel's struct bbr has no member bw"},
		{
			behind,
			"private state of bbr: member bw of this kernel's struct bbr lies at byte 100, behind the private memory",
		},
	} {
		b, err := btf.NewBuilder([]btf.Type{cubic, c.bbr}, nil)
		if err != nil {
			t.Fatal(err)
		}
		types, err := b.Spec()
		if err != nil {
			t.Fatal(err)
		}
		all, missing := resolvePrivate(types)
		if len(missing) != 1 || missing[0] != c.want {
			t.Errorf("missing %q, want %q alone", missing, c.want)
		}
		if all["bbr"] != nil || all["cubic"] == nil || all["compound"] == nil {
			t.Errorf("known are %v, want all but bbr", slices.Collect(maps.Keys(all)))
		}
	}
}

func TestASourceOpensBesideAnAlgorithmOfUnknownState(t *testing.T) {
	known := privateStates
	defer func() { privateStates = known }()
	privateStates = append(
		slices.Clone(known),
		privateState{name: "reno", structName: "tcp_sock", members: []string{"no_such_member"}},
	)
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
