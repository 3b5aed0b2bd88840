package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airtide/internal/tcp"
)

// smallRecording returns a recording with some blocks of each kind, and the start and content of
// each block.
func smallRecording(t testing.TB) (file []byte, want *kept) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.atr")
	w := create(t, path)
	want = &kept{}
	both := tcp.Tee{w, want}
	b := transfers(12, 2, 1)
	must(t, both.Flow(flowNumber(2)))
	for i := range 3 {
		must(t, both.Flow(flowNumber(tcp.FlowID(i+1))))
		must(t, both.Samples(cut(b, 4*i, 4*i+4)))
		must(t, both.Event(&tcp.Event{TimeNs: b.TimeNs[4*i], Flow: 1, Kind: tcp.EventTimeout, Value: int64(i)}))
		must(t, both.Lost(&tcp.Loss{TimeNs: int64(i), PerCPU: []uint64{uint64(i)}}))
		must(t, both.Radio(stationRecord(b.TimeNs[4*i], int64(i))))
		must(t, w.Flush())
	}
	must(t, w.Close())
	file, err := os.ReadFile(path)
	must(t, err)
	return file, want
}

// extent is a block's place in a file.
type extent struct {
	header
	from, to int
}

func extents(t testing.TB, file []byte) (all []extent) {
	t.Helper()
	for at := 0; at < len(file); {
		h, ok := parseHeader(file[at:])
		if !ok {
			t.Fatalf("no block at %d", at)
		}
		end := at + headerLen + int(h.payloadLen)
		all = append(all, extent{h, at, end})
		at = end
	}
	return all
}

// scanBytes reads a file from memory.
func scanBytes(file []byte, o ScanOptions) (*kept, *Reader, error) {
	r, err := newReader("test.atr", bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, nil, err
	}
	var k kept
	return &k, r, r.Scan(context.Background(), o, &k)
}

// held counts what a sink got: samples, events and losses.
func held(k *kept) [3]int { return [3]int{len(k.rows), len(k.events), len(k.losses)} }

// within counts the contents of the blocks.
func within(blocks []extent) (n [3]int) {
	for _, b := range blocks {
		switch b.kind {
		case blockSamples:
			n[0] += int(b.count)
		case blockEvents:
			n[1] += int(b.count)
		case blockLoss:
			n[2]++
		}
	}
	return n
}

// passOver says that a place is to be left out of a test of every place: most of those within the
// header blocks' payloads, which are most of a small file and all alike.
func passOver(blocks []extent, at int) bool {
	i := slices.IndexFunc(blocks, func(b extent) bool { return at < b.to })
	return blocks[i].kind == blockHeader && at > blocks[i].from+headerLen && at < blocks[i].to-1 && at%16 != 0
}

func TestFileCutAnywhereKeepsEveryWholeBlock(t *testing.T) {
	file, _ := smallRecording(t)
	blocks := extents(t, file)
	for length := range file {
		if passOver(blocks, length) {
			continue
		}
		var whole []extent
		for _, b := range blocks {
			if b.to <= length {
				whole = append(whole, b)
			}
		}
		got, r, err := scanBytes(file[:length], ScanOptions{})
		if len(whole) == 0 {
			if !errors.Is(err, ErrEmpty) {
				t.Fatalf("cut at %d, within the first block: %v", length, err)
			}
			continue
		}
		must(t, err)
		if held(got) != within(whole) {
			t.Fatalf("cut at %d: %v samples, events and losses, want %v", length, held(got), within(whole))
		}
		d := r.Damage()
		if tail := length - whole[len(whole)-1].to; d.TailBytes != int64(tail) || d.CleanEnd || d.Whole() ||
			len(d.Skipped) > 0 {
			t.Fatalf("cut at %d: %+v, want a tail of %d bytes", length, d, tail)
		}
	}
}

func TestFlippedByteCostsItsBlockOnly(t *testing.T) {
	file, _ := smallRecording(t)
	blocks := extents(t, file)
	for at := range file {
		if passOver(blocks, at) {
			continue
		}
		damaged := slices.Clone(file)
		damaged[at] ^= byte(1 + at%255)
		i := slices.IndexFunc(blocks, func(b extent) bool { return at < b.to })
		rest := slices.Delete(slices.Clone(blocks), i, i+1)
		got, r, err := scanBytes(damaged, ScanOptions{})
		if err != nil {
			t.Fatalf("byte %d: %v", at, err)
		}
		if held(got) != within(rest) {
			t.Fatalf("byte %d, in block %d: %v samples, events and losses, want %v", at, i, held(got), within(rest))
		}
		d := r.Damage()
		want := []Range{{int64(blocks[i].from), int64(blocks[i].to), ""}}
		if len(d.Skipped) == 1 {
			want[0].Reason = d.Skipped[0].Reason
		}
		if d.TailBytes > 0 { // the last block claims to be longer
			want = nil
		}
		if i == 0 { // never looked at again
			continue
		}
		if !slices.Equal(d.Skipped, want) || d.Whole() {
			t.Fatalf("byte %d, in block %d: skipped %+v, want %+v", at, i, d.Skipped, want)
		}
	}
}

func TestGarbageBetweenBlocksIsSkipped(t *testing.T) {
	file, want := smallRecording(t)
	rng := rand.New(rand.NewPCG(1, 1))
	for _, length := range []int{1, 7, 63, 64, 65, 3 * window} {
		garbage := make([]byte, length)
		for i := range garbage {
			garbage[i] = byte(rng.Uint32())
		}
		for i := 0; i+len(marker) < length; i += 100 + rng.IntN(5000) {
			copy(garbage[i:], marker) // markers that start no block
		}
		var damaged []byte
		for _, b := range extents(t, file) {
			damaged = append(append(damaged, file[b.from:b.to]...), garbage...)
		}
		got, r, err := scanBytes(damaged, ScanOptions{})
		must(t, err)
		sameRows(t, got, want)
		sameRest(t, got, want)
		if d := r.Damage(); d.SkippedBytes+d.TailBytes != int64(length*len(extents(t, file))) {
			t.Errorf("garbage of %d bytes: %s", length, &d)
		}
	}
}

func TestLostDefinitionLeavesSamplesReadable(t *testing.T) {
	file, want := smallRecording(t)
	var damaged []byte
	for _, b := range extents(t, file) {
		if b.kind != blockFlows {
			damaged = append(damaged, file[b.from:b.to]...)
		}
	}
	got, r, err := scanBytes(damaged, ScanOptions{})
	must(t, err)
	sameRows(t, got, want)
	if d := r.Damage(); d.UndefinedFlows != 2 || d.Whole() {
		t.Errorf("damage: %s", &d)
	}
	if len(got.flows) != 2 || got.flows[0].ID == 0 || got.flows[0].Local.IsValid() {
		t.Errorf("flows: %+v", got.flows)
	}
}

// reseal writes a block's header anew.
func reseal(file []byte, b extent, change func(*header)) {
	h := b.header
	change(&h)
	h.put(file[b.from:b.to])
}

func TestFutureVersionIsRefused(t *testing.T) {
	file, _ := smallRecording(t)
	for _, b := range extents(t, file) {
		reseal(file, b, func(h *header) { h.major = 2 })
	}
	_, _, err := scanBytes(file, ScanOptions{})
	var version *VersionError
	if !errors.As(err, &version) || version.Major != 2 {
		t.Fatalf("error %v, want a VersionError", err)
	}
	if text := err.Error(); !strings.Contains(text, "newer airtide") {
		t.Errorf("%q does not say what to do", text)
	}
}

func TestNewerMinorVersionIsRead(t *testing.T) {
	file, want := smallRecording(t)
	var newer []byte
	for _, b := range extents(t, file) {
		reseal(file, b, func(h *header) { h.minor = 9 })
		newer = append(newer, file[b.from:b.to]...)
		unknown := newHeader(blockRadio + 1)
		at := len(newer)
		newer = append(newer, make([]byte, headerLen+5)...)
		unknown.put(newer[at:])
	}
	got, r, err := scanBytes(newer, ScanOptions{})
	must(t, err)
	sameRows(t, got, want)
	sameRest(t, got, want)
	if d := r.Damage(); d.UnknownBlocks != len(extents(t, file)) {
		t.Errorf("damage: %s", &d)
	}
}

func TestFilesOfAnotherKindAreRefused(t *testing.T) {
	for name, content := range map[string]string{
		"text":     "time,cwnd\n1,10\n",
		"one byte": "x",
		"png":      "\x89PNG\r\n\x1a\n" + strings.Repeat("x", 1000),
		"pcap":     "\xd4\xc3\xb2\xa1\x02\x00\x04\x00" + strings.Repeat("\x00", 100000),
		"zeros":    strings.Repeat("\x00", 3*window),
	} {
		if _, _, err := scanBytes([]byte(content), ScanOptions{}); !errors.Is(err, ErrForeign) {
			t.Errorf("%s: %v, want ErrForeign", name, err)
		}
	}
	if _, _, err := scanBytes(nil, ScanOptions{}); !errors.Is(err, ErrEmpty) {
		t.Errorf("empty file: %v, want ErrEmpty", err)
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("directory: %v", err)
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
}

func TestBothHeadersDamagedIsAClearError(t *testing.T) {
	file, _ := smallRecording(t)
	for _, b := range extents(t, file)[:2] {
		file[b.from+headerLen]++
	}
	if _, _, err := scanBytes(file, ScanOptions{}); !errors.Is(err, errMetadata) ||
		!strings.Contains(err.Error(), "damaged") {
		t.Errorf("error: %v", err)
	}
}

// withDescription replaces the description of a recording.
func withDescription(t *testing.T, file []byte, change func(*description)) []byte {
	t.Helper()
	var changed []byte
	for _, b := range extents(t, file) {
		if b.kind != blockHeader {
			changed = append(changed, file[b.from:b.to]...)
			continue
		}
		text, err := decompress(nil, file[b.from+headerLen:b.to], maxDecoded)
		must(t, err)
		var d description
		must(t, json.Unmarshal(text, &d))
		change(&d)
		text, err = d.payload()
		must(t, err)
		at := len(changed)
		changed = compress(append(changed, make([]byte, headerLen)...), text)
		h := b.header
		h.put(changed[at:])
	}
	return changed
}

func TestColumnsAreMappedByName(t *testing.T) {
	file, want := smallRecording(t)
	renamed := withDescription(t, file, func(d *description) {
		for i := range d.Columns {
			switch d.Columns[i].Name {
			case "cwnd_packets":
				d.Columns[i].Name = "of_a_newer_version"
			case "unacked_bytes":
				t.Error("a computed field is stored")
			}
		}
		// The same column under another id: srtt and rttvar change places.
		a := slices.IndexFunc(d.Columns, func(c column) bool { return c.Name == "srtt_us" })
		b := slices.IndexFunc(d.Columns, func(c column) bool { return c.Name == "rttvar_us" })
		d.Columns[a].Name, d.Columns[b].Name = d.Columns[b].Name, d.Columns[a].Name
		slices.Reverse(d.Columns)
	})
	got, r, err := scanBytes(renamed, ScanOptions{})
	must(t, err)
	if d := r.Damage(); !d.Whole() {
		t.Errorf("damage: %s", &d)
	}
	if slices.Contains(r.Fields(), tcp.CwndPackets) || !slices.Contains(r.Fields(), tcp.SrttUs) {
		t.Errorf("fields: %v", r.Fields())
	}
	for i := range want.rows {
		v := &want.rows[i].Values
		v[tcp.CwndPackets] = tcp.Absent
		v[tcp.SrttUs], v[tcp.RttvarUs] = v[tcp.RttvarUs], v[tcp.SrttUs]
		want.rows[i].Compute()
	}
	sameRows(t, got, want)

	for name, change := range map[string]func(*description){
		"without time":     func(d *description) { d.Columns[0].Name = "x" },
		"without flow":     func(d *description) { d.Columns[1].Name = "x" },
		"with a huge id":   func(d *description) { d.Columns[5].ID = 1 << 40 },
		"with negative id": func(d *description) { d.Columns[5].ID = -1 },
	} {
		if _, _, err := scanBytes(withDescription(t, file, change), ScanOptions{}); !errors.Is(err, errMetadata) {
			t.Errorf("description %s: %v", name, err)
		}
	}
}
