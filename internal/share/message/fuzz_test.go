package message

import (
	"encoding/binary"
	"slices"
	"testing"

	"airtide/internal/share/cellkey"
)

const fuzzKey = "airtide-cell-1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9K66xW"

func FuzzDecode(f *testing.F) {
	r := goodReport()
	for _, echoes := range []int{0, 1, MaxEchoes} {
		b, err := appendBody(nil, &r, 1, make([]uint64, echoes), 0)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)-1])
		first := append([]byte{firstFieldsSize, 0}, b[lengthSize:lengthSize+firstFieldsSize]...)
		f.Add(append(first, b[lengthSize+fieldsSize:]...))
	}
	f.Add([]byte{})
	f.Add([]byte{0xff, 0xff})
	f.Fuzz(func(t *testing.T, raw []byte) {
		b, err := decodeBody(raw)
		if err != nil {
			return
		}
		if err := b.report.Check(); err != nil {
			t.Fatalf("decoded, and beyond its limits: %v", err)
		}
		var echoes []uint64
		for e := b.echoes; len(e) > 0; e = e[echoSize:] {
			echoes = append(echoes, binary.LittleEndian.Uint64(e))
		}
		again, err := appendBody(nil, &b.report, b.challenge, echoes, b.wanting)
		if err != nil {
			t.Fatal(err)
		}
		b2, err := decodeBody(again)
		if err != nil || b2.report != b.report || b2.challenge != b.challenge ||
			!slices.Equal(b2.echoes, b.echoes) || b2.wanting != b.wanting {
			t.Fatalf("%+v became %+v, %v", b, b2, err)
		}
	})
}

// A Receiver with one peer gets the fuzzer's datagrams unchanged, and as bodies that a member has
// sealed.
func FuzzReceive(f *testing.F) {
	k, err := cellkey.Parse(fuzzKey)
	if err != nil {
		f.Fatal(err)
	}
	r := goodReport()
	b, err := appendBody(nil, &r, 1, []uint64{2}, 0)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b, uint64(5), uint32(6), uint16(3))
	f.Add(b[:40], uint64(5), uint32(1<<32-1), uint16(1))
	f.Add(sealed(f, k, 5, 6, r, 7, 8), uint64(0), uint32(0), uint16(0))
	f.Add([]byte{magic, 2}, uint64(1), uint32(1), uint16(2))
	f.Fuzz(func(t *testing.T, raw []byte, session uint64, sequence uint32, from uint16) {
		a := newAgent(k, 1, 0)
		b := newAgent(k, 2, 0)
		acquaint(t, a, b, 0)
		before := b.Peers(nil, 0)
		if _, reason := b.Receive(address(int(from)), raw, 0); reason == Accepted {
			t.Fatal("a datagram that nobody sealed is accepted")
		}
		if after := b.Peers(nil, 0); !slices.Equal(before, after) {
			t.Fatalf("peers from %+v to %+v", before, after)
		}
		d := seal(nil, newSealer(k, session), header{k.Tag(), session, sequence}, raw)
		report, reason := b.Receive(address(int(from)), d, 0)
		if reason == Accepted {
			if err := report.Check(); err != nil || session != a.Session() {
				t.Fatalf("accepted from a session that has answered nothing: %+v, %v", report, err)
			}
		}
		bounded(t, b.Receiver)
	})
}
