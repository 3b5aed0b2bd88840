package main

import (
	"encoding/binary"
	"encoding/json"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airtide/internal/packets/decode"
	view "airtide/internal/view/capture"
	"airtide/test/capture"
)

// TestPacketsOfIncompleteCaptures runs the verb on captures that lack a part of what happened.
func TestPacketsOfIncompleteCaptures(t *testing.T) {
	client := netip.MustParseAddrPort("192.0.2.1:40000")
	server := netip.MustParseAddrPort("192.0.2.9:80")
	up := func(flags uint8, seq, ack uint32, payload int) capture.TCP {
		return capture.TCP{From: client, To: server, Flags: flags, Seq: seq, Ack: ack, Window: 500, Payload: payload}
	}
	down := func(flags uint8, seq, ack uint32, payload int) capture.TCP {
		return capture.TCP{From: server, To: client, Flags: flags, Seq: seq, Ack: ack, Window: 500, Payload: payload}
	}
	whole := []capture.TCP{
		up(decode.SYN, 100, 0, 0), down(decode.SYN|decode.ACK, 900, 101, 0), up(decode.ACK, 101, 901, 0),
		up(decode.ACK, 101, 901, 1000), down(decode.ACK, 901, 1101, 0), up(decode.ACK, 1101, 901, 1000),
		down(decode.ACK, 901, 2101, 0), up(decode.ACK|decode.FIN, 2101, 901, 0),
		down(decode.ACK|decode.FIN, 901, 2102, 0), up(decode.ACK, 2102, 902, 0),
	}
	// Packets are 10 ms apart.
	packets := func(segments []capture.TCP) (all []capture.Packet) {
		for i, s := range segments {
			all = append(all, capture.Packet{TimeNs: 1_700_000_000e9 + int64(i)*10e6, Data: s.IP()})
		}
		return all
	}
	var upOnly []capture.TCP
	for _, s := range whole {
		if s.From == client {
			upOnly = append(upOnly, s)
		}
	}
	back := packets(whole)
	forward := packets(whole)
	cut := packets(whole)
	headless := packets(whole)
	for i := range back {
		back[i].TimeNs -= int64(i/6) * 3600e9
		forward[i].TimeNs += int64(i/6) * 366 * 24 * 3600e9
		for _, p := range []*capture.Packet{&cut[i], &headless[i]} {
			p.Length = len(p.Data)
		}
		cut[i].Data = cut[i].Data[:40]
		headless[i].Data = headless[i].Data[:30]
	}
	var fragments []capture.Packet
	for i, p := range packets(whole) {
		parts := [][]byte{p.Data}
		if whole[i].Payload > 0 {
			parts = whole[i].Fragments(512)
		}
		for _, part := range parts {
			fragments = append(fragments, capture.Packet{TimeNs: p.TimeNs, Data: part})
		}
	}
	for name, c := range map[string]struct {
		packets         []capture.Packet
		note            string // of the text
		handshake, end  string
		data, timed     uint64 // bytes and RTTs of the client
		backward, parts uint64
	}{
		"whole":               {packets(whole), "", "full", "fin", 2000, 4, 0, 0},
		"cut to headers":      {cut, "", "full", "fin", 2000, 4, 0, 0},
		"cut inside headers":  {headless, "10 packets captured with too few bytes", "", "", 0, 0, 0, 0},
		"clock steps forward": {forward, "", "full", "fin", 2000, 4, 0, 0},
		"clock steps back":    {back, "1 packet with an earlier time", "full", "fin", 2000, 3, 1, 0},
		"from the middle":     {packets(whole[3:]), "", "none", "fin", 2000, 3, 0, 0},
		"one direction only":  {packets(upOnly), "", "partial", "half_closed", 2000, 0, 0, 0},
		"IP fragments":        {fragments, "4 packets in IP fragments", "full", "fin", 2000, 4, 0, 4},
		"the last part alone": {packets(whole[9:]), "", "none", "open", 0, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "some.pcap")
			content := capture.PCAP(binary.LittleEndian, true, 101, c.packets...)
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			if text := mustRun(t, "packets", path); !strings.Contains(text, c.note) {
				t.Errorf("lacks %q:\n%s", c.note, text)
			}
			var all view.Analysis
			if err := json.Unmarshal([]byte(mustRun(t, "packets", path, "--json")), &all); err != nil {
				t.Fatal(err)
			}
			if all.Totals.ClockStepsBack != c.backward || all.Totals.Fragments != c.parts {
				t.Errorf("%+v", all.Totals)
			}
			if c.handshake == "" {
				if len(all.Connections) != 0 || all.Totals.Cut != uint64(len(whole)) {
					t.Errorf("%+v", all.Totals)
				}
				return
			}
			if len(all.Connections) != 1 {
				t.Fatalf("%d connections", len(all.Connections))
			}
			one := all.Connections[0]
			timed := uint64(0)
			if one.FromClient.RTT != nil {
				timed = one.FromClient.RTT.Count
				if one.FromClient.RTT.Min < 0 {
					t.Errorf("a negative time: %+v", one.FromClient.RTT)
				}
			}
			if one.Client != client || one.Handshake != c.handshake || one.End != c.end ||
				one.FromClient.DataBytes != c.data || timed != c.timed {
				t.Errorf("%d RTTs: %+v", timed, *one)
			}
		})
	}
}
