package conn

import "testing"

// An echo gives an RTT once, and none behind a pause, in which the sender may have had no data.
func TestEchoes(t *testing.T) {
	const ms = int64(1e6)
	e := &echoes{}
	e.pass(7, 10*ms)
	e.pass(7, 11*ms)
	e.pass(9, 12*ms)
	for _, c := range []struct {
		value        uint32
		timeNs, want int64
	}{{6, 21 * ms, 0}, {7, 30 * ms, 20 * ms}, {7, 31 * ms, 0}, {8, 32 * ms, 0}, {9, 40 * ms, 28 * ms}} {
		if got := e.echo(c.value, c.timeNs); got != c.want {
			t.Errorf("echo of %d: %d ns, want %d", c.value, got, c.want)
		}
	}
	e.pass(10, 50*ms)
	if got := e.echo(10, 90*ms); got != 0 {
		t.Errorf("%d ns behind a pause", got)
	}
	for i := range uint32(1000) {
		e.pass(100+i, 100*ms)
	}
	if len(e.stamps) != maxStamps || e.echo(1<<31+50, 110*ms) != 0 || e.rtt.count != 2 {
		t.Errorf("%d timestamps, %d RTTs", len(e.stamps), e.rtt.count)
	}
	wrapped := &echoes{dataNs: 10}
	wrapped.pass(1<<32-1, 1)
	wrapped.pass(2, 2)
	if a, b := wrapped.echo(1<<32-1, 11), wrapped.echo(2, 15); a != 10 || b != 13 {
		t.Errorf("over the end of the numbers: %d and %d ns", a, b)
	}
}
