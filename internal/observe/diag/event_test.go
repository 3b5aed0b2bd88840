package diag

import (
	"fmt"
	"strings"
	"testing"

	"airtide/internal/tcp"
)

// TestEventsAreFoundByComparingSamples: each case changes something between two quiet samples of an
// established flow.
func TestEventsAreFoundByComparingSamples(t *testing.T) {
	const a = tcp.Absent
	for _, c := range []struct {
		name    string
		options uint8
		before  func(*past)
		now     func(*past)
		want    string // kind, code, cause, value of each
	}{
		{name: "nothing changes"},
		{name: "state", now: func(p *past) { p.state = 8 }, want: "state none none 0"},
		{name: "handshake done", before: func(p *past) { p.state = 2 }, want: "state none none 0, open none none 0"},
		{name: "DSACK", now: func(p *past) { p.dsackDups = 3 }, want: "dsack dup_ack none 3"},
		{name: "SACK", options: optionSACK, now: func(p *past) { p.sackedOut = 4 }, want: "sack dup_ack none 4"},
		{
			name: "more SACK is no second event", options: optionSACK, before: func(p *past) { p.sackedOut = 4 },
			now: func(p *past) { p.sackedOut = 9 },
		},
		{name: "duplicate ACK without SACK", now: func(p *past) { p.sackedOut = 1 }, want: "dup_ack dup_ack none 1"},
		{
			name: "recovery", options: optionSACK,
			now:  func(p *past) { p.caState = 3; p.sackedOut = 5; p.retransmits = 2 },
			want: "sack dup_ack none 5, ca_state none none 0, retransmit none fast 2",
		},
		{
			name: "recovery over between polls", options: optionSACK, before: func(p *past) { p.caState = 3 },
			now:  func(p *past) { p.retransmits = 1 },
			want: "ca_state none none 0, retransmit none fast 1",
		},
		{
			name: "reordering by counter", now: func(p *past) { p.reordSeen = 1; p.reordering = 12 },
			want: "reordering reordering none 12",
		},
		{
			name: "reordering by degree before 4.19", before: func(p *past) { p.reordSeen = a },
			now:  func(p *past) { p.reordSeen = a; p.reordering = 7 },
			want: "reordering reordering none 7",
		},
		{
			name: "degree falls", before: func(p *past) { p.reordSeen = a; p.reordering = 9 },
			now: func(p *past) { p.reordSeen = a },
		},
		{
			name: "timeout by counter",
			now:  func(p *past) { p.totalRTO = 1; p.backoff = 1; p.caState = 4; p.retransmits = 1 },
			want: "ca_state none none 0, timeout timeout none 200000, retransmit none rto 1",
		},
		{
			name: "two timeouts",
			now:  func(p *past) { p.totalRTO = 2; p.backoff = 2; p.caState = 4; p.retransmits = 2 },
			want: "ca_state none none 0, timeout timeout none 100000, " +
				"timeout timeout none 100000, retransmit none rto 2",
		},
		{
			name: "counter of timeouts wraps", before: func(p *past) { p.totalRTO = 65535 },
			now: func(p *past) { p.totalRTO = 0 }, want: "timeout timeout none 400000",
		},
		{
			name: "timeout by back-off before 6.7", before: func(p *past) { p.totalRTO = a },
			now: func(p *past) { p.totalRTO = a; p.backoff = 1 }, want: "timeout timeout none 200000",
		},
		{
			name: "timeout by state before 6.7", before: func(p *past) { p.totalRTO = a },
			now:  func(p *past) { p.totalRTO = a; p.caState = 4 },
			want: "ca_state none none 0, timeout timeout none 400000",
		},
		{
			name: "rest of the window after a timeout", before: func(p *past) { p.caState = 4 },
			now:  func(p *past) { p.caState = 4; p.retransmits = 8 },
			want: "retransmit none rto_recovery 8",
		},
		{
			name: "SYN again", before: func(p *past) { p.state = 2 },
			now: func(p *past) { p.state = 2; p.retransmits = 1 }, want: "retransmit none syn 1",
		},
		{
			name: "retransmission in open state", now: func(p *past) { p.retransmits = 1 },
			want: "retransmit none other 1",
		},
		{
			name: "local congestion without ECN", now: func(p *past) { p.caState = 2 },
			want: "ca_state none none 0, local_congestion local_congestion none 0",
		},
		{
			name: "local congestion with ECN and no mark", options: optionECN, now: func(p *past) { p.caState = 2 },
			want: "ca_state none none 0, local_congestion local_congestion none 0",
		},
		{
			name: "CWR by a mark", options: optionECN, now: func(p *past) { p.caState = 2; p.deliveredCE = 6 },
			want: "ecn_echo none none 6, ca_state none none 0",
		},
		{
			name: "CWR with ECN before 4.18 may be either", options: optionECN,
			before: func(p *past) { p.deliveredCE = a }, now: func(p *past) { p.deliveredCE = a; p.caState = 2 },
			want: "ca_state none none 0",
		},
		{
			name: "marks go on", before: func(p *past) { p.deliveredCE = 5; p.ceGrew = true },
			now: func(p *past) { p.deliveredCE = 9 },
		},
		{name: "zero window", now: func(p *past) { p.sendWindow = 0 }, want: "zero_window none none 0"},
		{name: "window opens", before: func(p *past) { p.sendWindow = 0 }, want: "window_open none none 65535"},
		{name: "own window closes", now: func(p *past) { p.recvWindow = 0 }, want: "local_zero_window none none 0"},
		{
			name: "windows unknown", before: func(p *past) {
				p.sendWindow = a
				p.recvWindow = a
			},
			now: func(p *past) {
				p.sendWindow = a
				p.recvWindow = a
			},
		},
		{
			name: "window of 0 before the peer answered", before: func(p *past) { p.state = 2; p.sendWindow = 0 },
			want: "state none none 0, open none none 0",
		},
	} {
		quiet := past{state: 1, reordering: 3, sendWindow: 65535, recvWindow: 65535}
		before := quiet
		now := quiet
		if c.before != nil {
			c.before(&before)
		}
		if c.now != nil {
			c.now(&now)
		}
		r := absentRow
		r[tcp.RTOUs] = 400_000
		var got []string
		err := (&comparison{
			before: &before, now: &now, row: &r, options: c.options, template: situation{}.event(1, 1, tcp.EventNone),
			emit: func(e *tcp.Event) error {
				if !e.FromSample || e.TimeNs != 1 || e.Flow != 1 {
					t.Errorf("%s: event %+v", c.name, e)
				}
				got = append(got, fmt.Sprintf("%v %v %v %d", e.Kind, e.Code, e.Cause, e.Value))
				return nil
			},
		}).run()
		if s := strings.Join(got, ", "); err != nil || s != c.want {
			t.Errorf("%s:\n got %s\nwant %s (error %v)", c.name, s, c.want, err)
		}
	}
}

func TestCloseReasonFollowsTheLastState(t *testing.T) {
	for _, c := range []struct {
		state    tcp.State
		timeWait bool
		want     tcp.Reason
	}{
		{tcp.StateFinWait1, false, tcp.ReasonLocalFIN},
		{tcp.StateFinWait2, false, tcp.ReasonLocalFIN},
		{tcp.StateClosing, false, tcp.ReasonLocalFIN},
		{tcp.StateCloseWait, false, tcp.ReasonRemoteFIN},
		{tcp.StateLastAck, false, tcp.ReasonRemoteFIN},
		{tcp.StateEstablished, false, tcp.ReasonUnknownLeaving},
		{tcp.StateEstablished, true, tcp.ReasonLocalFIN},
		{tcp.StateSynSent, false, tcp.ReasonUnknownLeaving},
	} {
		if got := closeReason(int64(c.state), c.timeWait); got != c.want {
			t.Errorf("%v, TIME_WAIT %v: %v, want %v", c.state, c.timeWait, got, c.want)
		}
	}
}
