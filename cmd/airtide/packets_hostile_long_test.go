//go:build long

package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"airtide/internal/packets/decode"
	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
)

// captureWriter writes a pcap of raw IPv4 packets, whose data is left out.
type captureWriter struct {
	*bufio.Writer
	timeNs int64
}

// segment writes a segment between a server and the client with a number. Each comes 1 µs later.
func (w *captureWriter) segment(client uint32, fromClient bool, flags byte, seq, ack uint32, payload int) {
	const headers = 40
	w.timeNs += 1000
	le := binary.LittleEndian
	be := binary.BigEndian
	b := le.AppendUint32(w.AvailableBuffer(), uint32(w.timeNs/1e9))
	b = le.AppendUint32(b, uint32(w.timeNs%1e9/1000))
	b = le.AppendUint32(le.AppendUint32(b, headers), uint32(headers+payload))
	b = be.AppendUint32(append(b, 0x45, 0), uint32(headers+payload)<<16)
	b = append(b, 0, 0, 64, 6, 0, 0)
	ends := [2]uint32{10<<24 | client, 192<<24 | 2<<8 | 1}
	ports := [2]uint32{4000, 80}
	if !fromClient {
		ends[0], ends[1], ports[0], ports[1] = ends[1], ends[0], ports[1], ports[0]
	}
	b = be.AppendUint32(be.AppendUint32(b, ends[0]), ends[1])
	b = be.AppendUint32(b, ports[0]<<16|ports[1])
	b = be.AppendUint32(be.AppendUint32(b, seq), ack)
	_, _ = w.Write(append(b, 0x50, flags, 16, 0, 0, 0, 0, 0))
}

// hostileCaptures makes files of 1 MB whose analysis could take much.
func hostileCaptures() map[string][]byte {
	capture := func(write func(*captureWriter)) []byte {
		var file bytes.Buffer
		z, _ := gzip.NewWriterLevel(&file, gzip.BestSpeed)
		w := &captureWriter{bufio.NewWriterSize(z, 1<<16), 1e18}
		_, _ = w.WriteString("\xd4\xc3\xb2\xa1\x02\x00\x04\x00" + strings.Repeat("\x00", 8) +
			"\xff\xff\x00\x00\x65\x00\x00\x00")
		write(w)
		_ = w.Flush()
		_ = z.Close()
		return file.Bytes()
	}
	rng := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, hostileBytes)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	noisy := func(w *captureWriter, n int) {
		for range n {
			w.segment(rng.Uint32N(1<<24), true, decode.ACK, rng.Uint32(), rng.Uint32(), 0)
		}
	}
	zstandard := func(write func(*captureWriter)) []byte {
		unzipped, err := gzip.NewReader(bytes.NewReader(capture(write)))
		if err != nil {
			panic(err)
		}
		var file bytes.Buffer
		z, _ := zstd.NewWriter(&file, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
		_, _ = io.Copy(z, unzipped)
		_ = z.Close()
		return file.Bytes()
	}
	return map[string][]byte{
		"connections in zstd": zstandard(func(w *captureWriter) {
			noisy(w, 48_000)
			for i := range uint32(550_000) {
				w.segment(i, true, decode.SYN, 1, 0, 0)
			}
		}),
		"short connections in zstd": zstandard(func(w *captureWriter) {
			for i := range uint32(45_000) {
				w.segment(i, true, decode.SYN, 1, 0, 0)
				w.segment(i, false, decode.SYN|decode.ACK, 1, 2, 0)
				w.segment(i, true, decode.ACK, 2, 2, 10)
				w.segment(i, false, decode.ACK, 2, 12, 20)
				w.segment(i, true, decode.ACK|decode.FIN, 12, 22, 0)
				w.segment(i, false, decode.ACK|decode.FIN, 22, 13, 0)
			}
		}),
		"connections": capture(func(w *captureWriter) {
			for i := range uint32(290_000) {
				w.segment(i, true, decode.SYN, 1, 0, 0)
			}
		}),
		"data without ACKs": capture(func(w *captureWriter) {
			for n := range uint32(8) {
				for i := range uint32(30_000) {
					w.segment(i, true, decode.ACK, 1+100*n, 1, 100)
					if n == 0 {
						w.segment(i, false, decode.ACK, 1, 1, 0)
					}
				}
			}
		}),
		"times of all lengths": capture(func(w *captureWriter) {
			for n := range uint32(35) {
				for i := range uint32(4_000) {
					w.segment(i, true, decode.ACK, 1+100*n, 1, 100)
				}
				w.timeNs += 1000 << n
				for i := range uint32(4_000) {
					w.segment(i, false, decode.ACK, 1, 101+100*n, 0)
				}
			}
		}),
		"one segment again and again": capture(func(w *captureWriter) {
			w.segment(1, true, decode.ACK, 0, 1, 1)
			w.segment(1, false, decode.ACK, 1, 1, 0)
			for i := range uint32(40_000) {
				w.segment(1, true, decode.ACK, 1+i, 1, 1)
			}
			for range 370_000 {
				w.segment(1, true, decode.ACK, 10_000, 1, 1)
			}
		}),
		"backwards": capture(func(w *captureWriter) {
			for i := range uint32(215_000) {
				w.segment(1, true, decode.ACK, 1+10*(215_000-i), 1, 1)
			}
		}),
		"ports used again": capture(func(w *captureWriter) {
			for i := range uint32(205_000) {
				w.segment(1, true, decode.SYN, 1+100*i, 0, 0)
			}
		}),
		"noise": capture(func(w *captureWriter) { _, _ = w.Write(noise) }),
	}
}

// beside makes a recording with many flows of the ends in hostile captures, and many changes.
func beside(t *testing.T) []byte {
	const flows = 20_000
	begin := int64(1e18)
	m := trace.Metadata{Source: "bpf", ClockMonotonicNs: 1, ClockWallNs: begin}
	return recordingOf(t, m, func(w *trace.Writer) {
		server := netip.MustParseAddrPort("192.0.2.1:80")
		for i := range uint32(flows) {
			client := i
			if i%2 == 0 {
				client = 1 // again and again
			}
			address := netip.AddrFrom4([4]byte{10, byte(client >> 16), byte(client >> 8), byte(client)})
			_ = w.Flow(&tcp.Flow{
				ID: tcp.FlowID(i + 1), Local: netip.AddrPortFrom(address, 4000), Remote: server,
				FirstNs: int64(i) * 1000,
			})
		}
		b := tcp.NewBatch(4096)
		var s tcp.Sample
		for i := range 500_000 {
			s.Flow = tcp.FlowID(i%flows + 1)
			s.TimeNs = int64(i) * 1000
			if i > 200_000 {
				s.Flow = 1
			}
			for f := range s.Values {
				s.Values[f] = tcp.Absent
			}
			s.Values[tcp.CwndPackets] = int64(i % 2)
			s.Values[tcp.CAStateField] = int64(i / 2 % 2)
			s.Values[tcp.MSSBytes] = 100
			s.Values[tcp.AckedBytes] = int64(i)
			s.Values[tcp.SrttUs] = 1
			b.Append(&s)
			if b.Len() == 4096 {
				_ = w.Samples(b)
				b.Reset()
			}
		}
	})
}

// captureVerbs are the ways to read a capture, FILE, some with a recording BESIDE it.
var captureVerbs = []string{
	"packets FILE", "packets FILE --json", "packets FILE --connection 1",
	"packets plot FILE -k ack-time -o OUT.svg", "packets export FILE --to parquet -o OUT",
	"packets export FILE --to perfetto -o OUT", "packets export FILE --to jsonl -o -",
	"packets annotate FILE BESIDE -o OUT", "packets join FILE BESIDE",
	"packets join FILE BESIDE --json", "packets join FILE BESIDE -o OUT.svg", "diagnose FILE",
}

// TestHostileCaptures runs the verb packets on every malicious capture, to the end and interrupted.
func TestHostileCaptures(t *testing.T) {
	dir := t.TempDir()
	recording := filepath.Join(dir, "beside.atr")
	data := beside(t)
	if err := os.WriteFile(recording, data, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Logf("a recording of %d bytes", len(data))
	for name, data := range hostileCaptures() {
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-")+".pcap.gz")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes", name, len(data))
		files := strings.NewReplacer("FILE", path, "BESIDE", recording)
		for i, verb := range captureVerbs {
			t.Run(name+"/"+verb, func(t *testing.T) {
				t.Parallel()
				args := strings.Fields(verb)
				for k := range args {
					args[k] = strings.ReplaceAll(files.Replace(args[k]), "OUT", filepath.Join(dir, fmt.Sprint(name, i)))
				}
				runHostile(t, args, 0)
			})
			if name == "connections" {
				t.Run("interrupted/"+verb, func(t *testing.T) { interruptHostile(t, strings.Fields(verb), files, 60) })
			}
		}
	}
}
