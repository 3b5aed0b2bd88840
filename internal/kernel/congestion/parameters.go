package congestion

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
)

// The steps of parameters that the programs keep as whole numbers.
const (
	betaSteps   = 1024
	packetSteps = 256
	lambdaSteps = 256
)

// wire is the layout of the parameters in the programs.
type wire = cubicCcParameters

var magic = [8]int8{'a', 'i', 'r', 't', 'i', 'd', 'e'}

func steps(v float64, per float64) uint32 { return uint32(math.Round(v * per)) }

// toWire encodes parameters for a kernel with hz ticks per second. The time ratio scales the ticks
// of a real second. Rounding to whole ticks changes a value by less than 1 %.
func toWire(k Kind, p Parameters, hz int) wire {
	num, den := p.TimeRatio()
	w := wire{
		Magic: magic, Kind: programs[k].number,
		Hz:      max(1, uint32(math.Round(float64(hz)*float64(num)/float64(den)))),
		TimeNum: num, TimeDen: den,
		RttRefUs: p.RTTRefUs, Beta: steps(p.Beta, betaSteps), Hystart: 1,
		Gamma:    steps(p.Gamma, packetSteps),
		GammaLow: steps(p.GammaLow, packetSteps), GammaHigh: steps(p.GammaHigh, packetSteps),
		Lambda: steps(p.Lambda, lambdaSteps), LowWindow: p.LowWindow,
		Headroom: p.Headroom,
	}
	if p.NoHyStart {
		w.Hystart = 0
	}
	return w
}

// fromWire decodes the parameters of a loaded program. It reports false for a program of another
// maker.
func fromWire(raw []byte) (k Kind, p Parameters, ok bool) {
	var w wire
	// A program of an earlier version lacks the later fields; they are 0.
	raw = append(slices.Clone(raw), make([]byte, max(0, binary.Size(w)-len(raw)))...)
	if err := binary.Read(bytes.NewReader(raw), binary.NativeEndian, &w); err != nil || w.Magic != magic {
		return "", p, false
	}
	for name, program := range programs {
		if program.number == w.Kind {
			k = name
		}
	}
	if k == "" {
		return "", p, false
	}
	for _, name := range k.Names() {
		switch name {
		case "rtt-ref":
			p.RTTRefUs = w.RttRefUs
		case "beta":
			p.Beta = float64(w.Beta) / betaSteps
		case "no-hystart":
			p.NoHyStart = w.Hystart == 0
		case "headroom":
			p.Headroom = w.Headroom
		case "gamma":
			p.Gamma = float64(w.Gamma) / packetSteps
		case "gamma-low":
			p.GammaLow = float64(w.GammaLow) / packetSteps
		case "gamma-high":
			p.GammaHigh = float64(w.GammaHigh) / packetSteps
		case "lambda":
			p.Lambda = float64(w.Lambda) / lambdaSteps
		case "low-window":
			p.LowWindow = w.LowWindow
		}
	}
	if w.TimeNum != w.TimeDen {
		p.TimeNum = w.TimeNum
		p.TimeDen = w.TimeDen
	}
	return k, p, true
}
