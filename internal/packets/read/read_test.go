package read_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"airtide/internal/packets/read"
	"airtide/test/capture"
)

const second = 1_700_000_000_000_000_000

var packets = []capture.Packet{
	{TimeNs: second + 1000, Data: []byte("first packet")},
	{TimeNs: second + 2000, Data: []byte("cut"), Length: 1500},
	{TimeNs: second + 3000, Data: nil, Length: 60},
}

// ticks returns the packets with times in ticks of a resolution.
func ticks(perSecond int64) (all []capture.Packet) {
	for _, p := range packets {
		p.TimeNs = p.TimeNs/1e9*perSecond + p.TimeNs%1e9*(perSecond/1e6)/1e3
		all = append(all, p)
	}
	return all
}

func readAll(t *testing.T, content []byte) ([]read.Packet, error) {
	t.Helper()
	r, err := read.New(bytes.NewReader(content), "some.pcap")
	if err != nil {
		return nil, err
	}
	defer r.Close()
	var all []read.Packet
	for {
		var p read.Packet
		if err := r.Next(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return all, err
		}
		p.Data = bytes.Clone(p.Data)
		all = append(all, p)
	}
}

func formats() map[string][]byte {
	little := binary.LittleEndian
	big := binary.BigEndian
	all := map[string][]byte{
		"pcap":                    capture.PCAP(little, false, 1, packets...),
		"big-endian nanoseconds":  capture.PCAP(big, true, 1, packets...),
		"pcapng":                  capture.PCAPNG(little, 1, 6, ticks(1e6)...),
		"big-endian pcapng in ns": capture.PCAPNG(big, 1, 9, ticks(1e9)...),
		"pcapng in 10 ns":         capture.PCAPNG(little, 1, 8, ticks(1e8)...),
	}
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	_, _ = w.Write(all["pcap"])
	w.Close()
	all["gzip"] = z.Bytes()
	e, _ := zstd.NewWriter(nil)
	all["zstd"] = e.EncodeAll(all["pcapng"], nil)
	// Unknown blocks are skipped, and a second section begins anew.
	extra := capture.Block(little, 0x80000bad, make([]byte, 400_000))
	all["sections"] = append(append(capture.PCAPNG(little, 1, 6, ticks(1e6)[:1]...), extra...),
		capture.PCAPNG(big, 1, 9, ticks(1e9)[1:]...)...)
	return all
}

func TestFormats(t *testing.T) {
	for name, content := range formats() {
		got, err := readAll(t, content)
		if err != nil || len(got) != len(packets) {
			t.Errorf("%s: %d packets, %v", name, len(got), err)
			continue
		}
		for i, p := range got {
			want := packets[i]
			if p.Number != uint64(i+1) || p.TimeNs != want.TimeNs || !bytes.Equal(p.Data, want.Data) ||
				p.Length != max(want.Length, len(want.Data)) || p.Link != 1 {
				t.Errorf("%s: packet %d is %+v", name, i, p)
			}
		}
	}
}

func TestSimplePackets(t *testing.T) {
	little := binary.LittleEndian
	content := capture.PCAPNG(little, 101, 6, ticks(1e6)[0])
	content = append(content, capture.Block(little, 3, append(little.AppendUint32(nil, 5), "hello"...))...)
	got, err := readAll(t, content)
	if err != nil || len(got) != 2 || string(got[1].Data) != "hello" || got[1].TimeNs != packets[0].TimeNs {
		t.Errorf("%+v, %v", got, err)
	}
}

// A capture that ends early is read up to there, wherever it ends.
func TestCutCaptures(t *testing.T) {
	for _, name := range []string{"pcap", "pcapng"} {
		whole := formats()[name]
		for n := 28; n < len(whole); n++ {
			got, err := readAll(t, whole[:n])
			if err == nil {
				continue // between two packets
			}
			damage, ok := errors.AsType[*read.Damage](err)
			if !ok || !damage.Cut || damage.Packet != uint64(len(got)) || !strings.Contains(err.Error(), "some.pcap") {
				t.Fatalf("%s of %d bytes: %v behind %d packets", name, n, err, len(got))
			}
		}
	}
	z := formats()["gzip"]
	if _, err := readAll(t, z[:len(z)-12]); err == nil {
		t.Error("a cut gzip is whole")
	}
}

func TestForeignFiles(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ content, want string }{
		"empty":     {"", "is empty"},
		"short":     {"ab", "is no capture"},
		"letter":    {"Dear reader, this is a letter.", "is no capture"},
		"recording": {"\x89ATR\r\n and more than a few bytes", "is no capture but a recording"},
		"snoop":     {"snoop\x00\x00\x00\x00\x00\x00\x02", "is a capture of snoop, which editcap"},
		"xz":        {"\xfd7zXZ\x00\x00\x04", "is compressed by xz: give the output of xz -dc"},
		"gzip":      {"\x1f\x8b but not really", "gzip"},
		"zstd":      {"\x28\xb5\x2f\xfd but not really", ""},
		"order":     {"\x0a\x0d\x0d\x0a\x1c\x00\x00\x00" + strings.Repeat("x", 40), "byte order"},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := read.Open(path)
		if err == nil {
			r.Close()
			t.Errorf("%s was opened", name)
		} else if !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := read.Open(dir); err == nil {
		t.Error("a folder was opened")
	}
}

// Lengths that no capture has are refused where they stand, without memory for them.
func TestHostileLengths(t *testing.T) {
	little := binary.LittleEndian
	pcap := capture.PCAP(little, false, 1, packets[0])
	ng := capture.PCAPNG(little, 1, 6, ticks(1e6)[0])
	for name, c := range map[string]struct {
		base []byte
		at   int
		put  uint32
	}{
		"record":           {pcap, 32, 0xffffffff},
		"large record":     {pcap, 32, 1<<20 + 1},
		"block":            {ng, len(ng) - 44 + 4, 0xfffffff0},
		"tiny block":       {ng, len(ng) - 44 + 4, 4},
		"odd block":        {ng, len(ng) - 44 + 4, 45},
		"captured":         {ng, len(ng) - 44 + 20, 0xfffffff0},
		"interface number": {ng, len(ng) - 44 + 8, 7},
		"last length":      {ng, len(ng) - 4, 48},
		"section":          {ng, 4, 0x7ffffffc},
	} {
		content := bytes.Clone(c.base)
		little.PutUint32(content[c.at:], c.put)
		content = append(content, make([]byte, 100)...)
		got, err := readAll(t, content)
		if damage, ok := errors.AsType[*read.Damage](err); !ok || damage.Cut || len(got) > 0 {
			t.Errorf("%s: %d packets, %v", name, len(got), err)
		}
	}
	if _, err := readAll(t, capture.PCAPNG(little, 1, 127, packets[0])); err == nil {
		t.Error("a clock of 10^127 ticks was accepted")
	}
}

// zeros is a zstd frame with a window of some bytes, a power of two: a pcap of empty packets.
func zeros(window, blocks int) []byte {
	const blockBytes = 1 << 17
	head := capture.PCAP(binary.LittleEndian, false, 101)
	frame := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, byte(bits.Len(uint(window))-11) << 3}
	block := func(kind, size int) { // 0: as it is, 1: one byte again and again
		frame = append(frame, byte(size<<3|kind<<1), byte(size>>5), byte(size>>13))
	}
	block(0, len(head))
	frame = append(frame, head...)
	for range blocks {
		block(1, blockBytes)
		frame = append(frame, 0)
	}
	return append(frame, 1, 0, 0) // the last block is empty
}

// A zstd frame takes neither much memory nor, for its size, much time.
func TestHostileZstd(t *testing.T) {
	if got, err := readAll(t, zeros(1<<23, 2)); err != nil || len(got) != 2<<17/16 {
		t.Errorf("%d packets, %v", len(got), err)
	}
	if _, err := readAll(t, zeros(1<<27, 2)); err == nil ||
		!strings.Contains(err.Error(), "some.pcap: zstd needs more than 32 MiB") {
		t.Error(err)
	}
	// 400 packets of 1 MB
	plain := append([]byte("\xd4\xc3\xb2\xa1\x02\x00\x04\x00"), make([]byte, 16)...)
	header := "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x0f\x00\x00\x00\x0f\x00"
	packet := append([]byte(header), make([]byte, 0xf0000)...)
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	small := z.EncodeAll(append(plain, bytes.Repeat(packet, 400)...), nil)
	if _, err := readAll(t, small); err == nil || !strings.Contains(err.Error(), "zstd expands more than 1100-fold") {
		t.Errorf("%d bytes: %v", len(small), err)
	}
}

// The number of packets in a compressed capture is bounded by its size: each takes time.
func TestHostileNumberOfPackets(t *testing.T) {
	plain := append([]byte("\xd4\xc3\xb2\xa1\x02\x00\x04\x00"), make([]byte, 16+16<<20)...)
	var small bytes.Buffer
	z := gzip.NewWriter(&small)
	_, _ = z.Write(plain)
	_ = z.Close()
	got, err := readAll(t, small.Bytes())
	if err == nil || !strings.Contains(err.Error(), "more packets than a compressed capture of this size has") {
		t.Error(err)
	}
	if most := 1<<17 + small.Len()/4; len(got) < 1<<17 || len(got) > most {
		t.Errorf("%d packets of %d bytes, want 2^17 to %d", len(got), small.Len(), most)
	}
	if got, err := readAll(t, plain); err != nil || len(got) != 1<<20 {
		t.Errorf("%d packets without compression, %v", len(got), err)
	}
}

func FuzzPcap(f *testing.F)   { fuzz(f, "pcap", "big-endian nanoseconds") }
func FuzzPcapng(f *testing.F) { fuzz(f, "pcapng", "big-endian pcapng in ns", "sections", "zstd") }

// fuzz reads any content to its end or its damage. Packets never exceed the content.
func fuzz(f *testing.F, names ...string) {
	for _, name := range names {
		f.Add(formats()[name])
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		r, err := read.New(bytes.NewReader(content), "fuzz")
		if err != nil {
			return
		}
		defer r.Close()
		var p read.Packet
		for n := 0; r.Next(&p) == nil; n++ {
			if len(p.Data) > p.Length {
				t.Fatalf("packet %d has %d of %d bytes", n, len(p.Data), p.Length)
			}
			if n > 1<<20 {
				return
			}
		}
	})
}
