//go:build tools

package congestion

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// power is a^n without loss.
func power(a uint64, n int64) *big.Int {
	return new(big.Int).Exp(new(big.Int).SetUint64(a), big.NewInt(n), nil)
}

func TestRootsAreExact(t *testing.T) {
	for _, c := range []struct {
		name     string
		question arithmeticCcQuestion
		exponent int64
	}{{"cube root", arithmeticCcQuestionCC_ASK_CBRT, 3}, {"square root", arithmeticCcQuestionCC_ASK_SQRT, 2}} {
		t.Run(c.name, func(t *testing.T) {
			largest := math.Pow(2, 64/float64(c.exponent))
			sampled(t, func(r *rand.Rand) question {
				q := question{Question: c.question, Wide: r.Uint64() >> r.IntN(64)}
				if r.IntN(2) == 0 { // beside a root that is whole, where rounding shows
					whole := power(uint64(draw(r, 0, largest-1)), c.exponent)
					q.Wide = whole.Uint64() + uint64(r.IntN(3)) - 1
				}
				return q
			}, func(q question) (string, bool) {
				wide := new(big.Int).SetUint64(q.Wide)
				ok := power(q.Answer, c.exponent).Cmp(wide) <= 0 && power(q.Answer+1, c.exponent).Cmp(wide) > 0
				return "the root, rounded down", ok
			})
		})
	}
}

// scaledC is C * RTT / RTT_ref in packets/s^3.
func scaledC(rttUs, refUs uint32) float64 { return cubicC * float64(rttUs) / float64(refUs) }

// The bound of cc_cubic_k: 1 tick and 2^-20 too little, 2^-20 too much.
func TestK(t *testing.T) {
	sampled(t, func(r *rand.Rand) question {
		return question{
			Question: arithmeticCcQuestionCC_ASK_K,
			A:        draw(r, 0, maxPackets), B: draw(r, minRTT, maxRTT), C: draw(r, minRef, maxRef),
		}
	}, func(q question) (string, bool) {
		// The paper's form, and not the one that the header computes.
		k := math.Cbrt(float64(q.A)/cubicC) * math.Cbrt(float64(q.C)/float64(q.B)) / tick
		got := float64(q.Answer)
		return fmt.Sprint(k), got >= k-1-math.Ldexp(k, -20) && got <= k+math.Ldexp(k, -20)
	})
}

// The bound of cc_cubic_offset: rounded down, 2^-29, saturated.
func TestCubicOffset(t *testing.T) {
	sampled(t, func(r *rand.Rand) question {
		return question{
			Question: arithmeticCcQuestionCC_ASK_OFFSET,
			A:        draw(r, 0, maxTicks), B: draw(r, minRTT, maxRTT), C: draw(r, minRef, maxRef),
		}
	}, func(q question) (string, bool) {
		w := math.Min(scaledC(q.B, q.C)*math.Pow(float64(q.A)*tick, 3), windowMax)
		got := float64(q.Answer)
		return fmt.Sprint(w), got > w-1-math.Ldexp(w, -29) && got <= w+math.Ldexp(w, -29)
	})
}

// Where the kernel's own formula does not overflow, the unscaled cubic is the kernel's to the
// packet.
func TestUnscaledCubicIsTheKernels(t *testing.T) {
	const overflows = 338 * 1024 // ticks
	sampled(t, func(r *rand.Rand) question {
		rtt := draw(r, minRTT, maxRTT)
		return question{Question: arithmeticCcQuestionCC_ASK_OFFSET, A: draw(r, 0, overflows), B: rtt, C: rtt}
	}, func(q question) (string, bool) {
		offs := uint64(q.A)
		kernel := min(410*offs*offs*offs>>40, windowMax)
		// Of products longer than 32 bits the lowest are dropped, which shows beside a whole
		// packet.
		return fmt.Sprint(kernel), q.Answer == kernel || q.Answer+1 == kernel && offs > 1600
	})
}

// The bound of cc_power_3_4: 1/256 packet and 2^-18 too little, never too much.
func TestPowerThreeQuarters(t *testing.T) {
	sampled(t, func(r *rand.Rand) question {
		return question{Question: arithmeticCcQuestionCC_ASK_POWER_34, A: draw(r, 0, 1<<24-1)}
	}, func(q question) (string, bool) {
		p := 256 * math.Pow(float64(q.A), 0.75)
		got := float64(q.Answer)
		return fmt.Sprint(p), got > p-1-math.Ldexp(p, -18) && got <= p*(1+1e-15)
	})
}

func TestQueuedPackets(t *testing.T) {
	sampled(t, func(r *rand.Rand) question {
		return question{
			Question: arithmeticCcQuestionCC_ASK_QUEUED,
			A:        draw(r, 2, maxPackets), B: draw(r, minRTT, maxRTT), C: draw(r, minRTT, maxRTT),
		}
	}, func(q question) (string, bool) {
		waits := 256 * float64(q.A) * math.Max(0, 1-float64(q.B)/float64(q.C))
		return fmt.Sprint(waits), math.Abs(float64(q.Answer)-waits+0.5) <= 0.5+1e-6
	})
}

func TestGammaIsTunedWithinItsBounds(t *testing.T) {
	sampled(t, func(r *rand.Rand) question {
		return question{
			Question: arithmeticCcQuestionCC_ASK_TUNE,
			A:        draw(r, 5*256, 30*256), B: draw(r, 0, maxPackets*256), C: draw(r, 0, 256),
		}
	}, func(q question) (string, bool) {
		lambda := float64(q.C) / 256
		g := (1-lambda)*float64(q.A) + lambda*0.75*float64(q.B)
		g = math.Min(math.Max(g, 5*256), 30*256)
		return fmt.Sprint(g), math.Abs(float64(q.Answer)-g) <= 2
	})
}

// The kernel counts Reno's window up in a loop, which a BPF program may not.
func TestRenoFriendlinessIsTheKernelsLoop(t *testing.T) {
	sampled(t, func(r *rand.Rand) question {
		// Up to ten times the packets for which Reno's window grows, exact multiples often.
		q := question{
			Question: arithmeticCcQuestionCC_ASK_FRIENDLY, A: draw(r, 2, maxPackets), C: uint32(400 + r.IntN(500)),
		}
		step := q.A * (8 * (1024 + q.C) / 3 / (1024 - q.C)) >> 3
		q.B = step * uint32(r.IntN(10))
		if r.IntN(2) == 0 {
			q.B += uint32(r.IntN(int(step)))
		}
		return q
	}, func(q question) (string, bool) {
		step := q.A * (8 * (1024 + q.C) / 3 / (1024 - q.C)) >> 3
		left := q.B
		more := uint64(0)
		for left > step {
			left -= step
			more++
		}
		return fmt.Sprintf("%d more, %d left", more, left), q.Answer == more<<32|uint64(left)
	})
}

// The forms of the cubic, as bpf/congestion/cubic.h numbers them.
const (
	formPlain = iota
	formK
	formC
)

// cubicModel is CUBIC in floating point: packets a given time after the beginning of an epoch.
type cubicModel struct{ gap, c, k float64 }

func newCubicModel(form, gap, rttUs, refUs uint32) cubicModel {
	m := cubicModel{gap: float64(gap), c: cubicC}
	inK := cubicC
	if form != formPlain {
		inK = scaledC(rttUs, refUs)
	}
	if form == formC {
		m.c = inK
	}
	m.k = math.Cbrt(m.gap / inK)
	return m
}

func (m cubicModel) at(seconds float64) float64 {
	const begin = 1000 // cc_ask_target begins with this window
	w := begin + m.gap + math.Min(math.Max(m.c*math.Pow(seconds-m.k, 3), -windowMax), windowMax)
	return math.Max(w, 0)
}

// The whole of it: the window is that of the model up to two ticks earlier or later (one for K, one
// for the time), and 2^-20 of both, and two packets.
func TestCubicTarget(t *testing.T) {
	sampled(t, func(r *rand.Rand) question {
		rtt := draw(r, minRTT, maxRTT)
		return question{
			Question: arithmeticCcQuestionCC_ASK_TARGET,
			A:        draw(r, 0, maxPackets), B: rtt, C: draw(r, minRef, maxRef), D: draw(r, 0, maxJiffies), E: rtt,
			F: uint32(r.IntN(3)),
		}
	}, func(q question) (string, bool) {
		m := newCubicModel(q.F, q.A, q.B, q.C)
		at := float64(q.D) / 1000
		early := at - 2*tick - math.Ldexp(at+m.k, -20)
		late := at + 2*tick + math.Ldexp(at+m.k, -20)
		low := m.at(early) - 2
		high := m.at(late) + 2
		got := float64(q.Answer)
		return fmt.Sprintf("%g to %g", low, high), got >= low && got <= high
	})
}

// changed reports whether an RTT has changed by more than an eighth.
func changed(from, to uint32) bool {
	return math.Abs(float64(to)-float64(from)) > float64(from>>3)
}

// In form C a changed RTT bends the curve and does not break it: from the packet where it was the
// window goes on as the new cubic does. In form K only K changes, and the curve jumps. An RTT that
// has changed by less than an eighth changes nothing. The slack is two packets, and what the cubic
// grows in four ticks (K twice, the time and the epoch's beginning) and in 2^-20 of all times.
func TestAChangedRTT(t *testing.T) {
	sampled(t, func(r *rand.Rand) question {
		return question{
			Question: arithmeticCcQuestionCC_ASK_TARGET,
			A:        draw(r, 0, maxPackets), B: draw(r, minRTT, maxRTT), C: draw(r, minRef, maxRef),
			D: draw(r, 0, 600_000), E: draw(r, minRTT, maxRTT), F: uint32(formK + r.IntN(2)),
			Wide: uint64(draw(r, 0, 600_000)),
		}
	}, func(q question) (string, bool) {
		before := newCubicModel(q.F, q.A, q.E, q.C)
		after := newCubicModel(q.F, q.A, q.B, q.C)
		at := float64(q.D) / 1000
		end := float64(q.D+uint32(q.Wide)) / 1000
		slack := 4*tick + math.Ldexp(end+before.k+after.k, -19)
		moved := 0. // time by which the new curve is ahead
		switch {
		case !changed(q.E, q.B):
			after = before
		case q.F == formC:
			// Found from whole packets: one packet less is so much nearer to the origin.
			away := before.c * math.Pow(math.Abs(at-before.k), 3)
			if away > windowMax/2 {
				return "", true
			}
			x := math.Cbrt(away / after.c)
			nearer := math.Cbrt(
				math.Max(away-1-before.c*(math.Pow(math.Abs(at-before.k)+2*tick, 3)-math.Pow(math.Abs(at-before.k), 3)),
					0) / after.c,
			)
			farther := math.Cbrt(
				before.c * math.Pow(math.Abs(at-before.k)+2*tick+math.Ldexp(at+before.k, -20), 3) / after.c,
			)
			slack += math.Max(x-nearer, farther-x)
			moved = after.k + math.Copysign(x, at-before.k) - at
		}
		low := after.at(end+moved-slack) - 2
		high := after.at(end+moved+slack) + 2
		got := float64(q.Answer)
		return fmt.Sprintf("%g to %g", low, high), got >= low && got <= high
	})
}
