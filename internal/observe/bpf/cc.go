package bpf

import (
	"fmt"
	"math/bits"
	"os"
	"slices"
	"strings"
	"unsafe"

	"github.com/cilium/ebpf/btf"

	"airtide/internal/tcp"
)

// privateState turns a congestion control's private memory (icsk_ca_priv) into fields. To add an
// algorithm: add its fields to package tcp and an entry to privateStates.
type privateState struct {
	name string // name of the algorithm
	// structName is its private state in the kernel, of which members are read. Those of airtide's
	// own algorithms have their places instead.
	structName string
	members    []string
	places     members
	fields     []tcp.Field
	// decode reads the members, in the order in which they are listed, and sets fields of row i.
	decode func(m members, s *monitorSampleRecord, t *ticks, row *columns, i int)
}

var privateStates = append([]privateState{cubicState, bbrState}, ownStates()...)

// privateSize is ICSK_CA_PRIV_SIZE of include/net/inet_connection_sock.h, in bytes.
const privateSize = int(unsafe.Sizeof(monitorSampleRecord{}.Cc)) - 8*moreWords

// member is the place of a value in the private memory.
type member struct {
	offset uint32 // bytes
	shift  uint8
	mask   uint32 // after the shift
	wide   bool   // the member has more than 32 bits
}

// bytes is the number of bytes read for the member.
func (m member) bytes() int {
	if m.wide {
		return 8
	}
	return 4
}

// members are the resolved places of a privateState's members.
type members []member

// get reads a member of up to 32 bits.
func (m members) get(i int, cc *[15]uint64) int64 {
	p := m[i]
	return int64(uint32(cc[p.offset/8]>>(8*(p.offset%8)+uint32(p.shift))) & p.mask)
}

// readU64 reads a member of 64 bits that is aligned to 4 bytes.
func readU64(cc *[15]uint64, offset uint32) uint64 {
	if offset%8 == 0 {
		return cc[offset/8]
	}
	return cc[offset/8]>>32 | cc[offset/8+1]<<32
}

// resolve finds the members in the kernel's types, those of its modules included. A nil result
// without error says that the kernel does not describe the structure.
func (p *privateState) resolve(types *btf.Spec) (members, error) {
	if p.places != nil {
		return p.places, nil
	}
	var s *btf.Struct
	if err := types.TypeByName(p.structName, &s); err != nil {
		module, moduleErr := btf.LoadKernelModuleSpec("tcp_" + p.name)
		if moduleErr != nil {
			return nil, nil //nolint:nilerr // a module that is not there is no error: its flows have no private fields
		}
		if err := module.TypeByName(p.structName, &s); err != nil {
			return nil, nil //nolint:nilerr // as above
		}
	}
	out := make(members, len(p.members))
	for i, name := range p.members {
		m, ok := find(s.Members, name, 0)
		if !ok {
			return nil, fmt.Errorf("this kernel's struct %s has no member %s", p.structName, name)
		}
		if int(m.offset)+m.bytes() > privateSize {
			return nil, fmt.Errorf("member %s of this kernel's struct %s lies at byte %d, behind the private memory",
				name, p.structName, m.offset)
		}
		out[i] = m
	}
	return out, nil
}

// resolvePrivate finds the members of every algorithm that this kernel describes, by name of the
// algorithm, and says of which it cannot tell the private state. A kernel may have another
// algorithm under a known name: only its state is absent.
func resolvePrivate(types *btf.Spec) (all map[string]*privateDecoder, missing []string) {
	all = map[string]*privateDecoder{}
	there := availableAlgorithms()
	for i := range privateStates {
		p := &privateStates[i]
		at, err := p.resolve(types)
		switch {
		case err != nil:
			missing = append(missing, fmt.Sprintf("private state of %s: %v", p.name, err))
		case at != nil:
			all[p.name] = &privateDecoder{state: p, at: at}
		case slices.Contains(there, p.name):
			missing = append(
				missing,
				fmt.Sprintf("private state of %s: the kernel does not describe its module's types (5.11 does)", p.name),
			)
		}
	}
	return all, missing
}

// availableAlgorithms are those that the kernel has loaded.
func availableAlgorithms() []string {
	text, err := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	if err != nil {
		return nil // without /proc/sys the algorithms are unknown
	}
	return strings.Fields(string(text))
}

// words is the number of 64-bit words of the private memory that hold the members.
func (m members) words() (n int) {
	for _, one := range m {
		n = max(n, int(one.offset)/8+1)
		if one.wide {
			n = max(n, int(one.offset)/8+2) // readU64 may reach into the next word
		}
	}
	return min(n, privateSize/8)
}

func find(list []btf.Member, name string, base btf.Bits) (member, bool) {
	for _, m := range list {
		if m.Name != name {
			continue
		}
		at := uint32(base + m.Offset)
		width := uint32(m.BitfieldSize)
		wide := false
		if width == 0 {
			size, err := btf.Sizeof(m.Type)
			if err != nil {
				return member{}, false
			}
			width = uint32(min(size, 4)) * 8
			wide = size > 4
		}
		// Bit fields are read through the 32-bit word that holds their first bit.
		return member{offset: at / 32 * 4, shift: uint8(at % 32), mask: uint32(1<<width - 1), wide: wide}, true
	}
	return member{}, false
}

// bictcpHZ is BICTCP_HZ of net/ipv4/tcp_cubic.c, a power of two: K and time in the cubic count
// 1/1024 s.
const bictcpHZ = 10

var cubicState = privateState{
	name: "cubic", structName: "bictcp",
	members: []string{"cnt", "last_max_cwnd", "bic_origin_point", "bic_K", "delay_min", "epoch_start", "tcp_cwnd"},
	fields: []tcp.Field{
		tcp.CubicKMs, tcp.CubicWmaxPackets, tcp.CubicOriginPackets, tcp.CubicEpochNs, tcp.CubicTargetPackets,
		tcp.CubicRenoPackets, tcp.CubicCnt, tcp.CubicDelayMinUs,
	},
	decode: func(m members, s *monitorSampleRecord, t *ticks, row *columns, i int) {
		cc := &s.Cc
		cnt := m.get(0, cc)
		wmax := m.get(1, cc)
		origin := m.get(2, cc)
		k := m.get(3, cc)
		delayMin := m.get(4, cc)
		epoch := m.get(5, cc)
		reno := m.get(6, cc)
		row[tcp.CubicCnt][i] = cnt
		row[tcp.CubicWmaxPackets][i] = wmax
		row[tcp.CubicOriginPackets][i] = origin
		row[tcp.CubicKMs][i] = k * 1000 >> bictcpHZ
		row[tcp.CubicDelayMinUs][i] = orAbsent(delayMin, delayMin != 0)
		row[tcp.CubicRenoPackets][i] = reno
		if epoch == 0 {
			row[tcp.CubicEpochNs][i] = tcp.Absent
			row[tcp.CubicTargetPackets][i] = tcp.Absent
			return
		}
		row[tcp.CubicEpochNs][i] = t.toNs(uint32(epoch))
		row[tcp.CubicTargetPackets][i] = cubicTarget(origin, k, t.us(s.Jiffies-uint32(epoch)), delayMin)
	},
}

// cubicTarget is the window that bictcp_update in net/ipv4/tcp_cubic.c aims at: origin + C (t +
// delayMin - K)^3 with C = 410/1024 per 1/1024 s units scaled by 2^40. Windows in packets, k in
// 1/1024 s, the age of the epoch and delayMin in µs.
func cubicTarget(origin, k, ageUs, delayMinUs int64) int64 {
	const cubeRTTScale = 410
	t := (ageUs + delayMinUs) << bictcpHZ / 1e6
	offset := t - k
	negative := offset < 0
	if negative {
		offset = -offset
	}
	// 2^17 of 1/1024 s are two minutes past K, where the kernel's own arithmetic would overflow as
	// well.
	offset = min(offset, 1<<17)
	delta := cubeRTTScale * offset * offset * offset >> (10 + 3*bictcpHZ)
	if negative {
		return origin - delta
	}
	return origin + delta
}

// BBR_SCALE is 8 and BW_SCALE 24 (net/ipv4/tcp_bbr.c): gains count 1/256, bandwidth packets/µs in
// 2^-24.
const (
	bbrScale = 8
	bwScale  = 24
)

var bbrState = privateState{
	name: "bbr", structName: "bbr",
	members: []string{"min_rtt_us", "mode", "pacing_gain", "cwnd_gain", "full_bw_reached", "bw"},
	fields: []tcp.Field{
		tcp.BBRMode, tcp.BBRBandwidthBps, tcp.BBRMinRttUs, tcp.BBRPacingGainPct, tcp.BBRCwndGainPct,
		tcp.BBRFullBandwidth,
	},
	decode: func(m members, s *monitorSampleRecord, _ *ticks, row *columns, i int) {
		cc := &s.Cc
		minRtt := m.get(0, cc)
		row[tcp.BBRMinRttUs][i] = orAbsent(minRtt, uint32(minRtt) != noRTT)
		row[tcp.BBRMode][i] = m.get(1, cc)
		row[tcp.BBRPacingGainPct][i] = m.get(2, cc) * 100 >> bbrScale
		row[tcp.BBRCwndGainPct][i] = m.get(3, cc) * 100 >> bbrScale
		row[tcp.BBRFullBandwidth][i] = m.get(4, cc)
		// bw is a struct minmax of {time, value} pairs; the first value is the windowed maximum.
		bw := uint32(readU64(cc, m[5].offset) >> 32)
		row[tcp.BBRBandwidthBps][i] = bbrBandwidth(uint64(bw), uint64(s.Mss))
	},
}

// bbrBandwidth converts packets/µs in 2^-24 to bit/s; the product needs more than 64 bits above 500
// Gbit/s.
func bbrBandwidth(bw, mss uint64) int64 {
	high, low := bits.Mul64(bw*mss, 8e6)
	return int64(high<<(64-bwScale) | low>>bwScale)
}
