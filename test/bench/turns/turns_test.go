package main

import "testing"

// Turns carry more than windows with as short a queue, and no more than the bound.
func TestTurnsSaveContention(t *testing.T) {
	rates, err := terminals()
	if err != nil {
		t.Fatal(err)
	}
	var alone []float64
	for i := range rates {
		e, err := newAir(1, rates[i:i+1])
		if err != nil {
			t.Fatal(err)
		}
		alone = append(alone, e.Alone())
	}
	bounded, err := judge(windows(8e6), rates, alone, 5)
	if err != nil {
		t.Fatal(err)
	}
	inTurn, err := judge(turns(20e6, 3e6), rates, alone, 5)
	if err != nil {
		t.Fatal(err)
	}
	if !(inTurn.parts > bounded.parts && inTurn.parts <= 1 && inTurn.index > 0.98 && bounded.index > 0.98) {
		t.Errorf("turns %+v, windows %+v", inTurn, bounded)
	}
}
