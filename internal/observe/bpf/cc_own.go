package bpf

import (
	"math"

	"airtide/internal/tcp"
)

// ownStates are those of airtide's congestion controls. Assertions in bpf/congestion/cubic.h and
// bpf/congestion/compound.h hold the places.
func ownStates() []privateState {
	word := func(i uint32) member { return member{offset: 4 * i, mask: math.MaxUint32} }
	cubic := privateState{
		// As cubicState's members, and behind them the constant of the cubic, mantissa and shift.
		places: members{word(0), word(1), word(4), word(5), word(6), word(7), word(9), word(15), word(16)},
		fields: cubicState.fields, decode: cubicState.decode,
	}
	compound := privateState{
		name:   "compound",
		places: members{word(0), word(2), word(3), word(4)},
		fields: []tcp.Field{
			tcp.CompoundDelayPackets, tcp.CompoundGammaPackets, tcp.CompoundRenoQueuedPackets, tcp.CompoundBaseRttUs,
		},
		decode: decodeCompound,
	}
	all := []privateState{compound}
	for _, name := range []string{"cubic_plain", "cubic_rttk", "cubic_rtt", "cubic_bound"} {
		one := cubic
		one.name = name
		if name == "cubic_rtt" {
			one.decode = decodeCubicRTT
		}
		all = append(all, one)
	}
	return all
}

// nameAliases adds other names of algorithms.
func nameAliases(all map[string]*privateDecoder, aliases func() (map[string]string, error)) error {
	if aliases == nil {
		return nil
	}
	names, err := aliases()
	if err != nil {
		return err
	}
	for name, own := range names {
		if d, ok := all[own]; ok {
			all[name] = d
		}
	}
	return nil
}

// decodeCubicRTT is CUBIC with another constant in the cubic.
func decodeCubicRTT(m members, s *monitorSampleRecord, t *ticks, row *columns, i int) {
	cubicState.decode(m, s, t, row, i)
	cc := &s.Cc
	origin := m.get(2, cc)
	k := m.get(3, cc)
	delayMin := m.get(4, cc)
	epoch := m.get(5, cc)
	if epoch == 0 {
		return
	}
	away := (t.us(s.Jiffies-uint32(epoch))+delayMin)<<bictcpHZ/1e6 - k
	constant := math.Ldexp(float64(m.get(7, cc)), -int(m.get(8, cc)))
	// Some 2^30 packets at most, as cc_cubic_offset of bpf/congestion/arithmetic.h has it.
	offset := math.Max(-1<<30, math.Min(1<<30, constant*math.Pow(float64(away), 3)))
	row[tcp.CubicTargetPackets][i] = origin + int64(offset)
}

// decodeCompound reads numbers that count 1/256 packet.
func decodeCompound(m members, s *monitorSampleRecord, _ *ticks, row *columns, i int) {
	const unknown = math.MaxUint32
	cc := &s.Cc
	row[tcp.CompoundDelayPackets][i] = m.get(0, cc) >> 8
	row[tcp.CompoundGammaPackets][i] = m.get(1, cc) >> 8
	queued := m.get(2, cc)
	row[tcp.CompoundRenoQueuedPackets][i] = orAbsent(queued>>8, queued != unknown)
	base := m.get(3, cc)
	row[tcp.CompoundBaseRttUs][i] = orAbsent(base, base != 0)
}
