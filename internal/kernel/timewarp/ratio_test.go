package timewarp

import (
	"strings"
	"testing"
	"testing/quick"
)

func TestRatiosAsPeopleWriteThem(t *testing.T) {
	for text, want := range map[string]Ratio{
		"1": {1, 1}, "10": {10, 1}, "1000": {1000, 1}, "5/2": {5, 2}, "2.5": {5, 2}, "0.1": {1, 10}, "1/10": {1, 10},
		"6/4": {3, 2}, "999999/1000000": {999999, 1000000}, "2000000/1000000": {2, 1},
	} {
		if got, err := ParseRatio(text); err != nil || got != want {
			t.Errorf("%q gives %v, %v", text, got, err)
		}
	}
}

func TestRatiosThatAreRefusedSayWhy(t *testing.T) {
	for text, want := range map[string]string{
		"": "want a number", "ten": "want a number", "1e2": "want a number", "NaN": "want a number",
		"Inf": "want a number", "0x10": "want a number",
		"1/0": "want a number", "5/": "want a number", "/5": "want a number", "1/2/3": "want a number",
		"--1": "want a number", "1 0": "want a number",
		"+3": "want a number", ".5": "want a number", "5.": "want a number",
		"0": "forward", "-1": "forward", "-1/2": "forward", "0/5": "forward",
		"1001": "out of range", "1/11": "out of range", "0.09": "out of range", "99999999999999999999": "out of range",
		"1000001/1000002": "too fine", "1.000001": "too fine", "1.0000001": "too fine",
		strings.Repeat("9", 1000): "want a number",
	} {
		_, err := ParseRatio(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q gives: %v, want %q", text, err, want)
		} else if strings.Contains(err.Error(), "\n") || len(err.Error()) > 200 {
			t.Errorf("%.30q gives: %v", text, err)
		}
	}
}

func TestARatioIsReadAsItWasWritten(t *testing.T) {
	property := func(num, den uint16) bool {
		r, err := ParseRatio(Ratio{uint32(num), uint32(den)}.String())
		if err != nil {
			return den == 0 || num == 0 || uint32(num)*slowest < uint32(den) || uint32(num) > uint32(den)*fastest
		}
		again, err := ParseRatio(r.String())
		return err == nil && again == r && uint64(r.Num)*uint64(den) == uint64(num)*uint64(r.Den)
	}
	if err := quick.Check(property, nil); err != nil {
		t.Error(err)
	}
}
