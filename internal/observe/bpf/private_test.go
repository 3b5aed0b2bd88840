package bpf

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf/btf"

	"airtide/internal/tcp"
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
		{
			"mon_event_kind", "EVENT_", func(v uint64) string { return tcp.EventKind(v).String() },
			int(tcp.EventHandshake),
		},
		{"mon_cause", "CAUSE_", func(v uint64) string { return tcp.Cause(v).String() }, int(tcp.CauseOther) + 1},
		{
			"mon_reason", "REASON_", func(v uint64) string { return tcp.Reason(v).String() },
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
				cubic := int64(tcp.Absent)
				compound := int64(tcp.Absent)
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
	last.Offset = btf.Bits(8 * (privateSize - 4))
	last.Type = &btf.Int{Name: "unsigned long", Size: 8}
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
