package message

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"airtide/internal/share/cellkey"
)

func sealed(
	t testing.TB, k cellkey.Key, session uint64, sequence uint32, r Report, challenge uint64, echoes ...uint64,
) []byte {
	t.Helper()
	b, err := appendBody(nil, &r, challenge, echoes, 0)
	if err != nil {
		t.Fatal(err)
	}
	return seal(nil, newSealer(k, session), header{k.Tag(), session, sequence}, b)
}

func TestOnlyItsKeyOpensADatagram(t *testing.T) {
	k := cellkey.New()
	r := goodReport()
	d := sealed(t, k, 5, 6, r, 7)
	got, err := openReport(k, d)
	r.Session = 5
	r.Sequence = 6
	if err != nil || got != r {
		t.Errorf("opened: %+v, %v", got, err)
	}
	other := cellkey.New()
	if _, err := openReport(other, d); !errors.Is(err, errOtherCell) {
		t.Errorf("another cell's key: %v", err)
	}
	// If two cells have the same tag by chance, decryption fails.
	tag := other.Tag()
	copy(d[atTag:], tag[:])
	if _, err := openReport(other, d); !errors.Is(err, errDoesNotOpen) {
		t.Errorf("another key with the same tag: %v", err)
	}
}

func TestEveryFlippedBitIsRefused(t *testing.T) {
	k := cellkey.New()
	d := sealed(t, k, 1<<40|5, 600, goodReport(), 7, 8, 9)
	for i := range len(d) * 8 {
		b := bytes.Clone(d)
		b[i/8] ^= 1 << (i % 8)
		if _, err := openReport(k, b); err == nil {
			t.Errorf("bit %d of byte %d: opened all the same", i%8, i/8)
		}
		r := NewReceiver(Config{Key: k}, 0)
		if _, reason := r.Receive(address(1), b, 0); reason == Accepted || reason == Unconfirmed {
			t.Errorf("bit %d of byte %d: %v", i%8, i/8, reason)
		}
		if len(r.sessions) != 0 {
			t.Errorf("bit %d of byte %d: a session was made of it", i%8, i/8)
		}
	}
}

func TestEveryOtherLengthOfADatagramIsRefused(t *testing.T) {
	k := cellkey.New()
	d := sealed(t, k, 5, 6, goodReport(), 7, 8, 9)
	for n := range len(d) {
		if _, err := openReport(k, d[:n]); err == nil {
			t.Errorf("the first %d bytes open", n)
		}
	}
	r := NewReceiver(Config{Key: k}, 0)
	for more := 1; len(d)+more <= MaxDatagram+2; more++ {
		long := append(bytes.Clone(d), make([]byte, more)...)
		_, reason := r.Receive(address(more), long, int64(more)*second)
		expected := WrongKey
		if len(long) > MaxDatagram {
			expected = Oversized
		}
		want(t, "longer", reason, expected)
	}
	_, reason := r.Receive(address(0), make([]byte, 65507), 0)
	want(t, "the longest that UDP has", reason, Oversized)
	_, reason = r.Receive(address(0), nil, 0)
	want(t, "nothing", reason, Malformed)
}

func TestTheErrorNamesAnotherVersion(t *testing.T) {
	k := cellkey.New()
	d := sealed(t, k, 5, 6, goodReport(), 7)
	d[atVersion] = 1
	_, err := openReport(k, d)
	var version VersionError
	if !errors.As(err, &version) || version.Version != 1 || !strings.Contains(err.Error(), "has version 1") {
		t.Errorf("error: %v", err)
	}
	r := NewReceiver(Config{Key: k}, 0)
	_, reason := r.Receive(address(1), d, 0)
	want(t, "version 1", reason, OtherVersion)
	_, reason = r.Receive(address(1), d[:2], 0)
	want(t, "a short one of version 1", reason, OtherVersion)
}

// A virtual machine that returns to a snapshot repeats its session and sequence numbers.
func TestRepeatedSequenceNumbersDoNotRepeatTheKeystream(t *testing.T) {
	k := cellkey.New()
	bodies := [2][]byte{bytes.Repeat([]byte{0}, 200), bytes.Repeat([]byte{0}, 200)}
	bodies[1][150] = 1
	var sent [2][]byte
	for i, body := range bodies {
		sent[i] = seal(nil, newSealer(k, 5), header{k.Tag(), 5, 6}, body)
		if plain, err := open(nil, newSealer(k, 5), sent[i]); err != nil || !bytes.Equal(plain, body) {
			t.Errorf("body %d opens as % x, %v", i, plain, err)
		}
	}
	same := 0
	for i := headerSize; i < len(sent[0]); i++ {
		if sent[0][i] == sent[1][i] {
			same++
		}
	}
	if same > 10 { // chance gives more in fewer than one of 10^8 runs
		t.Errorf("two bodies under one number have %d equal bytes", same)
	}
}

// The plaintext header has only the random session, its sequence number and the cell's tag.
func TestOnlyTheHeaderIsPlaintext(t *testing.T) {
	k := cellkey.New()
	a := newAgent(k, 1, 0)
	b := newAgent(k, 2, 0)
	tag := k.Tag()
	first := a.send(t, 0)
	second := b.send(t, 0)
	for _, d := range [][]byte{first, second} {
		if d[0] != magic || d[1] != Version || !bytes.Equal(d[atTag:atSession], tag[:]) ||
			!bytes.Equal(d[atSequence:headerSize], []byte{1, 0, 0, 0}) {
			t.Errorf("header % x", d[:headerSize])
		}
	}
	// Equal reports have different bodies.
	same := 0
	for i := headerSize; i < len(first); i++ {
		if first[i] == second[i] {
			same++
		}
	}
	if same > 10 {
		t.Errorf("%d of %d sealed bytes are equal", same, len(first)-headerSize)
	}
}

func TestAReportWithFewEchoesIsSmall(t *testing.T) {
	for echoes, most := range map[int]int{0: 128, 4: 160, MaxEchoes: 640} {
		if n := len(sealed(t, cellkey.New(), 1, 1, goodReport(), 1, make([]uint64, echoes)...)); n > most {
			t.Errorf("%d echoes take %d bytes, want at most %d", echoes, n, most)
		}
	}
}

func TestASessionEndsWithItsSequenceNumbers(t *testing.T) {
	k := cellkey.New()
	a := newAgent(k, 1, 0)
	b := newAgent(k, 2, 0)
	acquaint(t, a, b, 0)
	a.sequence = math.MaxUint32 - 2
	for range 2 {
		want(t, "one of the last", tell(t, a, b, 0), Accepted)
	}
	if d, err := a.Seal(nil, a.says, 0); !errors.Is(err, ErrExhausted) || len(d) != 0 {
		t.Errorf("after the last number: % x, %v", d, err)
	}
}

// Another implementation, OpenSSL's AES-SIV by Python's cryptography, seals the same bytes under
// the key 00 01 .. 1f.
func TestSealingAgreesWithAnotherImplementation(t *testing.T) {
	text, err := os.ReadFile("testdata/aes-siv.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct{ Session, Header, Body, Sealed string }
	if err := json.Unmarshal(text, &vectors); err != nil || len(vectors) == 0 {
		t.Fatalf("%d vectors: %v", len(vectors), err)
	}
	k, err := cellkey.Parse("airtide-cell-1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9K66xW")
	if err != nil {
		t.Fatal(err)
	}
	bytesOf := func(text string) []byte {
		b, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, v := range vectors {
		session, err := strconv.ParseUint(v.Session, 16, 64)
		if err != nil {
			t.Fatal(err)
		}
		s := newSealer(k, session)
		sealed := s.seal(nil, bytesOf(v.Header), bytesOf(v.Body))
		if got := hex.EncodeToString(sealed); got != v.Sealed {
			t.Errorf("session %s, %d bytes: sealed %s, want %s", v.Session, len(v.Body)/2, got, v.Sealed)
		}
		body, err := s.open(nil, bytesOf(v.Header), bytesOf(v.Sealed))
		if err != nil || hex.EncodeToString(body) != v.Body {
			t.Errorf("session %s: opened %x, %v", v.Session, body, err)
		}
	}
}

// The example in docs/reference/share-messages.md agrees with the code.
func TestTheExampleOfTheReference(t *testing.T) {
	k, err := cellkey.Parse("airtide-cell-1:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9K66xW")
	if err != nil {
		t.Fatal(err)
	}
	r := Report{
		PeriodMs: 247, State: Controlling, MaxKbps: 400_000, MaxSource: PHY, PHYKbps: 866_700, DeliveryKbps: 98_765,
		ApplicationLimited: true, DemandKbps: 120_000, UploadKbps: 98_000, DownloadKbps: 765,
		BoundKbps: 100_000, Weight: 1000,
		MinRTTUs: 1500, SmoothedRTTUs: 4200, RTT95Us: 9000, QueuedBytes: 65536, FlowsUp: 4, FlowsDown: 1,
		BothFamilies: true, BSS: k.BSS([6]byte{2, 0, 0, 0, 0, 1}), Counts: Counts{17, [4]uint32{1, 2, 3, 4}},
	}
	plain, err := appendBody(nil, &r, 0x1122334455667788, []uint64{0xa1a2a3a4a5a6a7a8, 0xb1b2b3b4b5b6b7b8}, 1)
	if err != nil {
		t.Fatal(err)
	}
	const session = 0x0123456789abcdef
	d := seal(nil, newSealer(k, session), header{k.Tag(), session, 42}, plain)
	page, err := os.ReadFile("../../../docs/reference/share-messages.md")
	if err != nil {
		t.Fatal(err)
	}
	flat := strings.Join(strings.Fields(string(page)), "")
	for what, b := range map[string][]byte{"datagram": d, "body": plain} {
		if !strings.Contains(flat, hex.EncodeToString(b)) {
			t.Errorf("the page lacks this %s:\n%s", what, hex.EncodeToString(b))
		}
	}
}

// openReport decodes a single datagram, without the checks of a Receiver.
func openReport(k cellkey.Key, datagram []byte) (Report, error) {
	h, err := parseHeader(datagram)
	if err != nil {
		return Report{}, err
	}
	if h.tag != k.Tag() {
		return Report{}, errOtherCell
	}
	plain, err := open(nil, newSealer(k, h.session), datagram)
	if err != nil {
		return Report{}, err
	}
	b, err := decodeBody(plain)
	if err != nil {
		return Report{}, err
	}
	b.report.Session = h.session
	b.report.Sequence = h.sequence
	return b.report, nil
}
