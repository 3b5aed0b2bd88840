package tune

import (
	"errors"
	"testing"
)

func TestSettingsThatAreRefused(t *testing.T) {
	for _, s := range []Settings{
		{},
		{CwndMaxPackets: 1},
		{CwndMinPackets: 1},
		{CwndMinPackets: 9, CwndMaxPackets: 8},
		{InitialWindowPackets: 1 << 30},
		{CongestionControl: "a-name-that-is-too-long"},
		{CongestionControl: "a b"},
		{PacingRateBps: 1},
		{PacingRateBps: 1 << 40},
		{SendBufferBytes: 100},
		{ReceiveBufferBytes: 1 << 31},
		{WindowClampBytes: 100},
		{MinRTOUs: 1},
		{MaxRTOUs: 10_000},
		{MaxRTOUs: 130_000_000},
		{MinRTOUs: 90_000_000, MaxRTOUs: 60_000_000},
		{MaxDelayedAckUs: 300_000},
		{InitialRTOUs: 10},
	} {
		if err := s.Check(); err == nil {
			t.Errorf("%+v is taken", s)
		}
	}
	for _, s := range []Settings{
		{CwndMaxPackets: 2},
		{CwndMinPackets: 8, CwndMaxPackets: 8},
		{MinRTOUs: 200_000},
		{MinRTOUs: 300_000, MaxRTOUs: 1_000_000},
	} {
		if err := s.Check(); err != nil {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// A kernel before 6.15 has no maximum RTO of a socket.
func TestAnOlderKernel(t *testing.T) {
	old := &kernel{hz: 250}
	if _, err := old.wire(1, Settings{MaxRTOUs: 2_000_000}); !errors.Is(err, ErrNotSupported) {
		t.Errorf("it says %v", err)
	}
}

func TestTicksAreRoundedUp(t *testing.T) {
	for _, c := range []struct {
		hz    int
		us    uint32
		ticks int64
	}{{250, 40_000, 10}, {250, 41_000, 11}, {1000, 5000, 5}, {100, 20_000, 2}, {300, 10_000, 3}} {
		got, err := (&kernel{hz: c.hz}).wire(1, Settings{MinRTOUs: c.us})
		if err != nil || got.Want[socketsTuneSettingTUNE_RTO_MIN] != c.ticks {
			t.Errorf("%d us at %d Hz: %+v, %v", c.us, c.hz, got, err)
		}
	}
}
