package workload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"time"

	"airtide/internal/lab/plan"
)

// iperfReport is the used part of the JSON report of an iperf3 end.
type iperfReport struct {
	Error string `json:"error"`
	Start struct {
		Connected []struct{} `json:"connected"`
	} `json:"start"`
	End struct {
		// A stream has sender and receiver (tcp), or udp. An interrupted end has only its own side.
		Streams []struct {
			Sender   iperfStream `json:"sender"`
			Receiver iperfStream `json:"receiver"`
			UDP      iperfStream `json:"udp"`
		} `json:"streams"`
	} `json:"end"`
}

// iperfStream describes a connection in an interval or in total.
type iperfStream struct {
	Start      float64 `json:"start"` // s
	End        float64 `json:"end"`
	Bytes      int64   `json:"bytes"`
	JitterMs   float64 `json:"jitter_ms"`
	Lost       int64   `json:"lost_packets"`
	Packets    int64   `json:"packets"`
	OutOfOrder int64   `json:"out_of_order"`
	// Sender is true if the reporting end sends on the connection.
	Sender bool `json:"sender"`
}

func readIperf(path string) (*iperfReport, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return parseIperf(b)
}

// parseIperf parses a report and skips warnings around the JSON.
func parseIperf(b []byte) (*iperfReport, error) {
	r := &iperfReport{}
	if err := json.NewDecoder(bytes.NewReader(b[max(0, bytes.IndexByte(b, '{')):])).Decode(r); err != nil {
		return nil, fmt.Errorf("reading iperf3's JSON: %w", err)
	}
	return r, nil
}

// toRealTime converts the times of a report from a clock with a rate to real time.
func (r *iperfReport) toRealTime(clock float64) {
	scale := func(s *iperfStream) {
		s.Start /= clock
		s.End /= clock
		s.JitterMs /= clock
	}
	for i := range r.End.Streams {
		s := &r.End.Streams[i]
		scale(&s.Sender)
		scale(&s.Receiver)
		scale(&s.UDP)
	}
}

// duration converts seconds to a time, rounded to nanoseconds.
func duration(s float64) time.Duration { return time.Duration(math.Round(s * 1e9)) }

// trafficOf joins the reports of the sender's and the receiver's end. The duration comes from the
// client, because the duration of an interrupted server ends with its last whole interval (iperf3
// 3.12).
func trafficOf(f plan.Flow, sender, receiver, client *iperfReport) *traffic {
	t := &traffic{}
	receiving := 0
	for _, s := range sender.End.Streams {
		// Use the stream that the sender's end marks as sender.
		if s.UDP.Sender {
			t.sent += s.UDP.Packets
		}
	}
	for _, s := range receiver.End.Streams {
		if f.Protocol != plan.UDP {
			if !s.Receiver.Sender {
				t.receivedBytes += s.Receiver.Bytes
			}
			continue
		}
		if own := s.UDP; !own.Sender {
			receiving++
			t.received += own.Packets - own.Lost
			t.lost += own.Lost
			t.outOfOrder += own.OutOfOrder
			t.jitter += duration(own.JitterMs / 1e3)
		}
	}
	if f.Protocol == plan.UDP {
		// iperf3 3.12 does not report the bytes of received datagrams.
		t.receivedBytes = t.received * int64(f.Length)
		t.jitter /= time.Duration(max(1, receiving))
	}
	var last float64
	for _, s := range client.End.Streams {
		last = max(last, s.Sender.End, s.Receiver.End, s.UDP.End)
	}
	t.duration = duration(last)
	if last > 0 {
		t.rateBps = float64(t.receivedBytes) * 8 / last
	}
	return t
}
