package join_test

import (
	"testing"

	"airtide/internal/packets/conn"
	"airtide/internal/packets/join"
	"airtide/internal/packets/read"
	"airtide/internal/packets/series"
	"airtide/internal/tcp"
)

const lossy = "../conn/testdata/lossy.pcap.gz"

// analyse runs an observer over the capture.
func analyse(t *testing.T, o conn.Options) {
	t.Helper()
	r, err := read.Open(lossy)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := conn.Run(t.Context(), r, o); err != nil {
		t.Fatal(err)
	}
}

// withCwnd adds a window of 10 packets to samples, and a SYN to the acknowledged bytes.
type withCwnd struct{ tcp.Sink }

func (w withCwnd) Samples(b *tcp.Batch) error {
	for i := range b.Len() {
		b.Cols[tcp.CwndPackets][i], b.Cols[tcp.MSSBytes][i], b.Cols[tcp.SrttUs][i] = 10, 1000, 4000
		b.Cols[tcp.AckedBytes][i]++
	}
	return w.Sink.Samples(b)
}

// recorded is a recording of the capture's transfer whose clock is ahead.
func recorded(t *testing.T, aheadNs int64, only uint64) *join.Recording {
	t.Helper()
	r := &join.Recording{WallNs: func(ns int64) int64 { return ns + aheadNs }}
	s := &series.Series{Sink: withCwnd{r}, Only: only}
	analyse(t, conn.Options{Observer: s})
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	return r
}

func joinWith(t *testing.T, r *join.Recording, only uint64) (joined []*join.Connection) {
	t.Helper()
	j := &join.Joiner{Recording: r, Only: only, Joined: func(x *join.Connection) error {
		joined = append(joined, x)
		return nil
	}}
	analyse(t, conn.Options{Observer: j, Done: j.Done})
	return joined
}

func TestClocksAreAlignedByAcks(t *testing.T) {
	for _, ahead := range []int64{0, 123_456_789, -7_000_000_000} {
		joined := joinWith(t, recorded(t, ahead, 2), 0)
		if len(joined) != 2 {
			t.Fatalf("%d ends in both", len(joined))
		}
		x, cwnd := joined[0], joined[0].Cwnd()
		if x.Connection != 2 || x.Flow != 3 || x.AlignedBy != "acks" || x.Matches < 100 || x.OffsetNs != ahead ||
			x.OffsetP50Ns != ahead || x.OffsetP95Ns != ahead || x.RecordedCwnd != 10_000 || x.RecordedSrttUs != 4000 ||
			x.CapturedRetransmissions != 95 || x.RecordedRetransmissions != 95 || x.CapturedRTTUs == 0 {
			t.Errorf("%d ns ahead: %+v", ahead, *x)
		}
		if len(x.InFlight) != 344 || len(cwnd) < 300 || cwnd[0].TimeNs < x.FirstNs ||
			cwnd[len(cwnd)-1].TimeNs > x.LastNs {
			t.Errorf("%d and %d points", len(x.InFlight), len(cwnd))
		}
	}
}

// Flows of another time are other flows, even with the same addresses.
func TestOtherTimesAreNotJoined(t *testing.T) {
	if joined := joinWith(t, recorded(t, 3_600_000_000_000, 0), 0); len(joined) != 0 {
		t.Errorf("%d ends are joined", len(joined))
	}
}

func TestOneConnectionIsJoined(t *testing.T) {
	r := recorded(t, 0, 0)
	for only, want := range map[uint64]int{0: 4, 1: 2, 2: 2, 3: 0} {
		if joined := joinWith(t, r, only); len(joined) != want {
			t.Errorf("connection %d: %d ends are joined", only, len(joined))
		}
	}
}
