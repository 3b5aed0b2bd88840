package bpf

import (
	"encoding/binary"
	"slices"
	"testing"
)

// fakeRings are rings without a kernel behind them.
func fakeRings(slots ...int) *rings {
	const slotSize = 64
	rs := &rings{clock: func() int64 { return 1 << 40 }}
	for _, n := range slots {
		rs.list = append(rs.list, &ring{
			control: &monitorRingControl{}, slots: make([]byte, n*slotSize), slotSize: slotSize, mask: uint64(n - 1),
		})
	}
	return rs
}

// write writes a record as the programs do; false when the ring is full.
func (r *ring) write(timeNs int64) bool {
	if r.control.Produced-r.control.Consumed > r.mask {
		return false
	}
	slot := r.slots[int(r.control.Produced&r.mask)*r.slotSize:]
	binary.NativeEndian.PutUint64(slot[recordTimeOffset:], uint64(timeNs))
	r.control.Produced++
	return true
}

func drained(t *testing.T, rs *rings) (times []int64) {
	t.Helper()
	_, err := rs.drain(func(raw []byte) error {
		times = append(times, int64(binary.NativeEndian.Uint64(raw[recordTimeOffset:])))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return times
}

func TestRingsAreMergedByTime(t *testing.T) {
	rs := fakeRings(8, 8, 2)
	for _, n := range []int64{1, 4, 5, 9} {
		rs.list[0].write(n)
	}
	for _, n := range []int64{2, 3, 8} {
		rs.list[1].write(n)
	}
	rs.list[2].write(6)
	if got, want := drained(t, rs), []int64{1, 2, 3, 4, 5, 6, 8, 9}; !slices.Equal(got, want) {
		t.Errorf("drained %v, want %v", got, want)
	}
	if got := drained(t, rs); len(got) != 0 {
		t.Errorf("drained %v once more", got)
	}
}

func TestRingsGoRoundAndLeaveWhatComesMeanwhile(t *testing.T) {
	rs := fakeRings(4, 4)
	next := int64(0)
	var want, got []int64
	for range 10 {
		for range 3 {
			if !rs.list[next%2].write(next) {
				t.Fatalf("record %d finds the ring full", next)
			}
			want = append(want, next)
			next++
		}
		first := true
		if _, err := rs.drain(func(raw []byte) error {
			if first {
				first = false
				rs.list[0].write(1 << 20) // later than the look's beginning
			}
			got = append(got, int64(binary.NativeEndian.Uint64(raw[recordTimeOffset:])))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if last := got[len(got)-1]; last == 1<<20 {
			t.Fatal("what came meanwhile was taken")
		}
		if late := drained(t, rs); !slices.Equal(late, []int64{1 << 20}) {
			t.Fatalf("the next look finds %v", late)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("drained %v, want %v", got, want)
	}
}

func TestAFullRingSaysHowFullItWas(t *testing.T) {
	rs := fakeRings(4)
	for n := range int64(4) {
		if !rs.list[0].write(n) {
			t.Fatalf("record %d finds the ring full", n)
		}
	}
	if rs.list[0].write(4) {
		t.Fatal("a fifth record found room in a ring of four")
	}
	filled, err := rs.drain(func([]byte) error { return nil })
	if err != nil || filled != 1 {
		t.Errorf("filled %v, %v", filled, err)
	}
	if !rs.list[0].write(5) {
		t.Error("no room after all has been drained")
	}
}
