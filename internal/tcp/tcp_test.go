package tcp

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"regexp"
	"strings"
	"testing"
)

func TestFieldNamesAreAContract(t *testing.T) {
	form := regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	units := map[string]string{
		"_bytes": "bytes", "_packets": "packets", "_us": "µs", "_ms": "ms", "_ns": "ns", "_bps": "bit/s",
		"_pct": "%",
	}
	var names []string
	for f := range Field(NumFields) {
		info := f.Info()
		names = append(names, info.Name)
		if !form.MatchString(info.Name) || info.Doc == "" || info.Source == "" {
			t.Errorf("field %d %q: want a snake-case name, a description and a source", f, info.Name)
		}
		for suffix, unit := range units {
			if strings.HasSuffix(info.Name, suffix) && info.Unit != unit {
				t.Errorf("%s has the unit %q", info.Name, info.Unit)
			}
		}
		if back, ok := FieldByName(info.Name); !ok || back != f {
			t.Errorf("%s is not found by its name", info.Name)
		}
	}
	// Scripts rely on the names: a change of this sum must be told in the documentation of the
	// formats.
	const pinned = "7ca066b1156828a8"
	sum := sha256.Sum256([]byte(strings.Join(names, " ")))
	if got := hex.EncodeToString(sum[:8]); got != pinned {
		t.Errorf("the list of field names has changed (%s, was %s):\n%s", got, pinned, strings.Join(names, " "))
	}
}

func TestComputedFieldsComeFromStoredOnes(t *testing.T) {
	b := NewBatch(4)
	var s Sample
	for f := range NumStored {
		s.Values[f] = Absent
	}
	b.Append(&s)
	s.Values[AckedBytes] = 1000
	s.Values[SentBytes] = 4000
	s.Values[WrittenBytes] = 10000
	s.Values[ReceivedBytes] = 700
	s.Values[ReadBytes] = 500
	s.Values[InFlightPackets] = 3
	s.Values[MSSBytes] = 1448
	s.Values[RetransOutPackets] = 0
	s.Values[SegmentBytes] = 0
	b.Append(&s)
	s.Values[SegmentBytes] = 1448
	s.Values[RetransOutPackets] = 1
	b.Append(&s)

	for _, c := range []struct {
		field Field
		want  [3]int64
	}{
		{UnackedBytes, [3]int64{Absent, 3000, 3000}},
		{UnsentBytes, [3]int64{Absent, 6000, 6000}},
		{SendQueuedBytes, [3]int64{Absent, 9000, 9000}},
		{ReceiveQueuedBytes, [3]int64{Absent, 200, 200}},
		{InFlightBytes, [3]int64{Absent, 3000, 3 * 1448}},
		{Direction, [3]int64{Absent, DirectionAck, DirectionData}},
	} {
		for i, want := range c.want {
			var row Sample
			b.Row(i, &row)
			if got := b.At(c.field, i); got != want || row.Values[c.field] != want {
				t.Errorf("%s in row %d is %d and %d, want %d", c.field, i, got, row.Values[c.field], want)
			}
		}
	}
	if int(UnackedBytes) != int(NumStored) || !UnackedBytes.Computed() || StateField.Computed() {
		t.Error("the computed fields do not follow the stored ones")
	}
}

func TestBatchKeepsRowsWhenItGrows(t *testing.T) {
	b := NewBatch(1)
	for i := range 10 {
		var s Sample
		s.Flow = FlowID(i)
		s.TimeNs = int64(i)
		s.Values[CwndPackets] = int64(10 * i)
		b.Append(&s)
	}
	b.Resize(20)
	if b.Len() != 20 {
		t.Fatalf("%d rows", b.Len())
	}
	for i := range 10 {
		if b.TimeNs[i] != int64(i) || b.Flow[i] != FlowID(i) || b.Cols[CwndPackets][i] != int64(10*i) {
			t.Errorf("row %d has changed", i)
		}
	}
	b.Reset()
	if b.Len() != 0 {
		t.Error("reset leaves rows")
	}
}

func TestNamesAndNumbersOfEnumerations(t *testing.T) {
	if len(eventNames) != int(numEventKinds) {
		t.Fatalf("%d names for %d kinds of events", len(eventNames), numEventKinds)
	}
	for k := range numEventKinds {
		if back, err := ParseEventKind(k.String()); err != nil || back != k {
			t.Errorf("%s: %v", k, err)
		}
	}
	for _, c := range []struct{ got, want string }{
		{CodeReordering.String(), "reordering"},
		{CodeLocalCongestion.String(), "local_congestion"},
		{CodeDupAck.String(), "dup_ack"},
		{CodeTimeout.String(), "timeout"},
		{CALoss.String(), "loss"},
		{StateCloseWait.String(), "close_wait"},
		{CauseTLP.String(), "tlp"},
		{ReasonUndoDsack.String(), "undo_dsack"},
		{EventKind(200).String(), "event_200"},
	} {
		if c.got != c.want {
			t.Errorf("got %s, want %s", c.got, c.want)
		}
	}
	// The codes of Matsuno et al. 2021 are the numbers of the kernel's congestion states.
	if int(CodeTimeout) != int(CALoss) || int(CodeDupAck) != int(CARecovery) ||
		int(CodeLocalCongestion) != int(CACWR) || int(CodeReordering) != int(CADisorder) {
		t.Error("error codes and congestion states differ")
	}
	if _, err := ParseEventKind("nonsense"); err == nil || !strings.Contains(err.Error(), "retransmit") {
		t.Errorf("an unknown kind gives %v", err)
	}
}

func TestEndpointShortensMappedAddresses(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"[::ffff:192.0.2.1]:80", "192.0.2.1:80"},
		{"[2001:db8::1]:443", "[2001:db8::1]:443"},
		{"192.0.2.2:1", "192.0.2.2:1"},
	} {
		if got := Endpoint(netip.MustParseAddrPort(c.in)); got != c.want {
			t.Errorf("%s: %s, want %s", c.in, got, c.want)
		}
	}
	if got := Endpoint(netip.AddrPort{}); got != "?" {
		t.Errorf("no address: %s", got)
	}
}
