package message

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/quick"
	"time"

	"airtide/internal/share/cellkey"
)

func TestRatesStayWithinTheirLimits(t *testing.T) {
	for bps, want := range map[float64]Rate{
		0: 0, -5e6: 0, math.NaN(): 0, math.Inf(-1): 0, math.Inf(1): HighestRate, 1e300: HighestRate,
		1: LowestRate, 1499: 1, 1500: 2, 866.7e6: 866_700, 100e9: HighestRate,
	} {
		if got := RateOf(bps); got != want {
			t.Errorf("%g bit/s became %d kbit/s, want %d", bps, got, want)
		}
	}
	if got := Rate(866_700).Bps(); got != 866.7e6 {
		t.Errorf("back in bit/s: %g", got)
	}
}

// beyond changes one value of a valid report so that it exceeds its limits.
var beyond = map[string]func(*Report){
	"state":              func(r *Report) { r.State = numStates },
	"source":             func(r *Report) { r.MaxSource = numSources },
	"maximum, no source": func(r *Report) { r.MaxSource = Unknown },
	"source, no maximum": func(r *Report) { r.MaxKbps = 0 },
	"maximum":            func(r *Report) { r.MaxKbps = HighestRate + 1 },
	"PHY rate":           func(r *Report) { r.PHYKbps = HighestRate + 1 },
	"delivery":           func(r *Report) { r.DeliveryKbps = math.MaxUint32 },
	"demand":             func(r *Report) { r.DemandKbps = HighestRate + 1 },
	"upload":             func(r *Report) { r.UploadKbps = HighestRate + 1 },
	"download":           func(r *Report) { r.DownloadKbps = HighestRate + 1 },
	"bound":              func(r *Report) { r.BoundKbps = HighestRate + 1 },
	"no weight":          func(r *Report) { r.Weight = 0 },
	"little weight":      func(r *Report) { r.Weight = LowestWeight - 1 },
	"weight":             func(r *Report) { r.Weight = HighestWeight + 1 },
	"minimum RTT":        func(r *Report) { r.MinRTTUs = LongestRTTUs + 1 },
	"smoothed RTT":       func(r *Report) { r.SmoothedRTTUs = LongestRTTUs + 1 },
	"RTT percentile":     func(r *Report) { r.RTT95Us = math.MaxUint32 },
	"queue":              func(r *Report) { r.QueuedBytes = MostQueuedBytes + 1 },
	"short period":       func(r *Report) { r.PeriodMs = LowestPeriodMs - 1 },
	"long period":        func(r *Report) { r.PeriodMs = HighestPeriodMs + 1 },
}

func goodReport() Report {
	return Report{PeriodMs: 200, Weight: 1000, MaxKbps: 400_000, MaxSource: PHY}
}

func TestAnImplausibleReportIsNeitherSentNorAccepted(t *testing.T) {
	good := goodReport()
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for what, change := range beyond {
		r := good
		change(&r)
		if r.Check() == nil {
			t.Errorf("%s: the report passes", what)
		}
		b, err := appendBody(nil, &r, 1, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decodeBody(b); !errors.Is(err, errImplausible) {
			t.Errorf("%s: decoding gives %v", what, err)
		}
	}
}

func TestAReportIsDecodedUnchanged(t *testing.T) {
	survives := func(seed, challenge uint64, echoes []uint64) bool {
		challenge = max(challenge, 1)
		r := plausible(seeded(seed))
		echoes = echoes[:min(len(echoes), MaxEchoes)]
		wanting := int(challenge % uint64(len(echoes)+1))
		raw, err := appendBody(nil, &r, challenge, echoes, wanting)
		if err != nil {
			t.Fatal(err)
		}
		b, err := decodeBody(raw)
		if err != nil {
			t.Fatal(err)
		}
		for i, e := range echoes {
			answered, wanted := b.echoed(e)
			// The first of equal ones counts.
			if !answered || wanted != (slices.Index(echoes, e) < wanting) {
				t.Logf("echo %d: %v, %v", i, answered, wanted)
				return false
			}
		}
		return b.report == r && b.challenge == challenge && len(b.echoes) == echoSize*len(echoes)
	}
	if err := quick.Check(survives, &quick.Config{MaxCount: 2000}); err != nil {
		t.Error(err)
	}
	r := goodReport()
	if raw, err := appendBody(nil, &r, 0, nil, 0); err != nil {
		t.Fatal(err)
	} else if _, err := decodeBody(raw); !errors.Is(err, errImplausible) {
		t.Errorf("without a challenge: %v", err)
	}
	if _, err := appendBody(nil, &r, 1, make([]uint64, MaxEchoes+1), 0); err == nil {
		t.Error("more echoes than there is room for were taken")
	}
}

func TestEveryOtherLengthIsMalformed(t *testing.T) {
	for _, echoes := range []int{0, 1, 2, MaxEchoes} {
		r := goodReport()
		whole, err := appendBody(nil, &r, 1, make([]uint64, echoes), 0)
		if err != nil {
			t.Fatal(err)
		}
		for n := range len(whole) {
			if _, err := decodeBody(whole[:n]); !errors.Is(err, errMalformed) {
				t.Errorf("the first %d of %d bytes: %v", n, len(whole), err)
			}
		}
		for more := 1; more < 100; more++ {
			_, err := decodeBody(append(whole[:len(whole):len(whole)], make([]byte, more)...))
			if !errors.Is(err, errMalformed) {
				t.Errorf("%d bytes more: %v", more, err)
			}
		}
		for fixed := range math.MaxUint16 + 1 {
			b := bytes.Clone(whole)
			b[0] = byte(fixed)
			b[1] = byte(fixed >> 8)
			// Another fixed part with a fitting number of echoes is of another minor version.
			rest := len(b) - lengthSize - fixed - countSize
			fits := fixed >= firstFieldsSize && rest >= 0 && rest == echoSize*int(b[lengthSize+fixed]) &&
				b[lengthSize+fixed+1] <= b[lengthSize+fixed]
			if _, err := decodeBody(b); fits != (err == nil) {
				t.Errorf("%d echoes, a fixed part of %d: %v", echoes, fixed, err)
			}
		}
		for count := range 256 {
			b := bytes.Clone(whole)
			b[lengthSize+fieldsSize] = byte(count)
			if _, err := decodeBody(b); (count == echoes) != (err == nil) {
				t.Errorf("%d echoes called %d: %v", echoes, count, err)
			}
			b = bytes.Clone(whole)
			b[lengthSize+fieldsSize+1] = byte(count)
			if _, err := decodeBody(b); (count <= echoes) != (err == nil) {
				t.Errorf("%d echoes, of which %d want an answer: %v", echoes, count, err)
			}
		}
	}
}

func TestFieldsOfLaterVersionsAreSkipped(t *testing.T) {
	r := goodReport()
	whole, err := appendBody(nil, &r, 1, []uint64{3, 4}, 0)
	if err != nil {
		t.Fatal(err)
	}
	later := append([]byte{fieldsSize + 5, 0}, whole[lengthSize:lengthSize+fieldsSize]...)
	later = append(later, 9, 9, 9, 9, 9)
	later = append(later, whole[lengthSize+fieldsSize:]...)
	b, err := decodeBody(later)
	three, _ := b.echoed(3)
	four, _ := b.echoed(4)
	five, _ := b.echoed(5)
	if err != nil || b.report != r || !three || !four || five {
		t.Errorf("read %+v, %v", b, err)
	}
}

// Reports of the first minor version end before the BSS.
func TestReportsOfTheFirstMinorVersionAreRead(t *testing.T) {
	r := goodReport()
	r.BSS = 7
	whole, err := appendBody(nil, &r, 1, []uint64{3, 4}, 1)
	if err != nil {
		t.Fatal(err)
	}
	first := append([]byte{firstFieldsSize, 0}, whole[lengthSize:lengthSize+firstFieldsSize]...)
	first = append(first, whole[lengthSize+fieldsSize:]...)
	b, err := decodeBody(first)
	three, wanting := b.echoed(3)
	four, _ := b.echoed(4)
	r.BSS = 0
	if err != nil || b.report != r || !three || !wanting || !four {
		t.Errorf("read %+v, %v", b, err)
	}
	// This is the shortest datagram.
	k := cellkey.New()
	d := seal(nil, newSealer(k, 5), header{k.Tag(), 5, 6},
		append(first[:lengthSize+firstFieldsSize:lengthSize+firstFieldsSize], 0, 0))
	if got, err := openReport(k, d); err != nil || len(d) != shortest || got.MaxKbps != r.MaxKbps {
		t.Errorf("%d bytes opened: %+v, %v", len(d), got, err)
	}
}

func TestProbesAreRoundedToTheStepsOfAReport(t *testing.T) {
	for _, c := range []struct {
		kind       ProbeKind
		in, length time.Duration
		want       Probe
	}{
		{RTTProbe, 610 * time.Millisecond, 390 * time.Millisecond, Probe{RTTProbe, 600, 400}},
		{RTTProbe, -time.Second, 200 * time.Millisecond, Probe{RTTProbe, 0, 200}},
		{ReleaseProbe, LatestProbe, LongestProbe, Probe{ReleaseProbe, 1575, 3000}},
		{ReleaseProbe, LatestProbe + ProbeBeginStep, time.Second, Probe{}},
		{ReleaseProbe, 0, LongestProbe + ProbeLengthStep, Probe{}},
		{RTTProbe, 0, 0, Probe{}},
		{NoProbe, time.Second, time.Second, Probe{}},
		{numProbeKinds, time.Second, time.Second, Probe{}},
	} {
		probe := ProbeIn(c.kind, c.in, c.length)
		if probe != c.want || probeOf(probe.flags()) != probe {
			t.Errorf("%s in %s for %s: %+v, read as %+v", c.kind, c.in, c.length, probe, probeOf(probe.flags()))
		}
	}
	r := goodReport()
	for _, impossible := range []Probe{
		{RTTProbe, 10, 400},
		{RTTProbe, 25, 300},
		{NoProbe, 25, 0},
		{numProbeKinds, 25, 400},
		{ReleaseProbe, 1600, 400},
	} {
		r.Probe = impossible
		if err := r.Check(); err == nil {
			t.Errorf("Check accepted %+v", impossible)
		}
	}
}

// Scripts use the names in JSON.
func TestNamesInJSON(t *testing.T) {
	raw, err := json.Marshal(Report{State: Released, MaxSource: Configured})
	if err != nil {
		t.Fatal(err)
	}
	const expected = `{"session":0,"sequence":0,"period_ms":0,"state":"released","max_kbps":0,` +
		`"max_source":"configured","phy_kbps":0,"delivery_kbps":0,"application_limited":false,"demand_kbps":0,` +
		`"upload_kbps":0,"download_kbps":0,"bound_kbps":0,"weight_thousandths":0,"foreign_queues":false,` +
		`"single_frames":false,"both_families":false,"min_rtt_us":0,"smoothed_rtt_us":0,"rtt_95_us":0,` +
		`"queued_bytes":0,"flows_up":0,"flows_down":0,` +
		`"retransmissions":0,"errors":[0,0,0,0]}`
	if string(raw) != expected {
		t.Errorf("%s", raw)
	}
	seen := map[string]bool{}
	for r := range NumReasons {
		if name := r.String(); name == "" || seen[name] || strings.ToLower(name) != name {
			t.Errorf("reason %d is called %q", r, name)
		}
		seen[r.String()] = true
	}
}

// Every field of a report is encoded and decoded.
func TestEveryFieldIsEncoded(t *testing.T) {
	full := plausible(rand.New(rand.NewPCG(3, 3)))
	full.State = Controlling
	full.MaxKbps = 7
	full.MaxSource = Configured
	full.ApplicationLimited = true
	full.ForeignQueues = true
	full.SingleFrames = true
	full.BothFamilies = true
	full.Probe = Probe{RTTProbe, 25, 400}
	raw, err := appendBody(nil, &full, 1, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	b, err := decodeBody(raw)
	if err != nil {
		t.Fatal(err)
	}
	v := reflect.ValueOf(b.report)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		inHeader := name == "Session" || name == "Sequence"
		if v.Field(i).IsZero() != inHeader {
			t.Errorf("%s is %v", name, v.Field(i))
		}
	}
}
