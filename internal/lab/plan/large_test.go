package plan

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"airtide/internal/lab/document"
)

// largeFile returns a file of the smallest cell with some claims and points.
func largeFile(claims, points int) []byte {
	var b strings.Builder
	b.WriteString(`name: large
terminals: {phone: {radio: {standard: n, phy_rate: 65 Mbit/s}}}
servers: {server: {}}
flows: {up: {from: phone, to: server, protocol: tcp}}
measure: {goodput: {quantity: goodput}}
`)
	b.WriteString("sweep: [{over: path.rtt, values: [")
	for i := range points {
		fmt.Fprintf(&b, "%d us,", i+1)
	}
	b.WriteString("]}]\nclaims:\n")
	for i := range claims {
		fmt.Fprintf(&b, "  c%d: {says: a, holds: mean(goodput) > %d}\n", i, i)
	}
	return []byte(b.String())
}

// BenchmarkReadLarge reads as many claims and points as a file may have. Its time is the sum of
// both, and not their product.
func BenchmarkReadLarge(b *testing.B) {
	text := largeFile(2500, MaxPoints)
	for b.Loop() {
		if _, err := Read(b.Context(), "large.yaml", text); err != nil {
			b.Fatal(err)
		}
	}
}

func TestReadEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Read(ctx, "large.yaml", largeFile(1, 100)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestPlansThatNeedTooMuchMemoryAreRefused(t *testing.T) {
	const group = `name: large
terminals: {phone: {count: 250, radio: {standard: n, phy_rate: 65 Mbit/s}}}
servers: {server: {}}
flows: {up: {from: phone1, to: server, protocol: tcp}}
`
	rtts := make([]string, 1000)
	for i := range rtts {
		rtts[i] = fmt.Sprintf("%d us", i+1)
	}
	sweep := "sweep: [{over: path.rtt, values: [" + strings.Join(rtts, ",") + "]}]\n"
	for name, c := range map[string]struct{ text, want string }{
		"terminals of all points": {group + sweep, "large.yaml:5:8: found too much for one plan"},
		"stalls of all terminals": {
			group + "duration: 1000 s\npath: {stalls: {every: 100 ms, length: 1 ms}}\n", "found too much for one plan",
		},
		"runs": {string(largeFile(0, 1000)) + "repeats: 1000\n", "found 1000000 runs, expected at most 100000"},
	} {
		_, err := Read(t.Context(), "large.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestManyMistakesAreRefusedQuickly(t *testing.T) {
	text := largeFile(0, 1)
	for i := range 20_000 {
		text = fmt.Appendf(text, "x%d:\n", i)
	}
	_, err := Read(t.Context(), "large.yaml", text)
	if problems, ok := errors.AsType[Problems](err); !ok || len(problems) != document.MaxProblems {
		t.Errorf("got %v", err)
	}
}
