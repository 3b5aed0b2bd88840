package workload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"

	"airtide/internal/lab/plan"
)

// iperfReport is what is used of the JSON that iperf3 writes at each end.
type iperfReport struct {
	Error string `json:"error"`
	Start struct {
		Connected []struct{} `json:"connected"`
	} `json:"start"`
	Intervals []struct {
		Streams []iperfStream `json:"streams"`
	} `json:"intervals"`
	End struct {
		// A stream has sender and receiver (tcp), or udp. Each end knows its own side only, as it was interrupted.
		Streams []struct {
			Sender   iperfStream `json:"sender"`
			Receiver iperfStream `json:"receiver"`
			UDP      iperfStream `json:"udp"`
		} `json:"streams"`
	} `json:"end"`
}

// iperfStream is a connection, in an interval or over all.
type iperfStream struct {
	Start       float64 `json:"start"` // s
	End         float64 `json:"end"`
	Bytes       int64   `json:"bytes"`
	Retransmits int64   `json:"retransmits"`
	JitterMs    float64 `json:"jitter_ms"`
	Lost        int64   `json:"lost_packets"`
	Packets     int64   `json:"packets"`
	OutOfOrder  int64   `json:"out_of_order"`
	// Sender says that the end that writes sends on this connection.
	Sender bool `json:"sender"`
}

func readIperf(path string) (*iperfReport, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	// Warnings may stand before and behind.
	r := &iperfReport{}
	if err := json.NewDecoder(bytes.NewReader(b[max(0, bytes.IndexByte(b, '{')):])).Decode(r); err != nil {
		return nil, fmt.Errorf("reading iperf3's JSON: %w", err)
	}
	return r, nil
}

// inRealTime makes the times of a report, which are by a clock that runs so many times as fast, those of real time.
func (r *iperfReport) inRealTime(clock float64) {
	scale := func(s *iperfStream) {
		s.Start /= clock
		s.End /= clock
		s.JitterMs /= clock
	}
	for i := range r.Intervals {
		for k := range r.Intervals[i].Streams {
			scale(&r.Intervals[i].Streams[k])
		}
	}
	for i := range r.End.Streams {
		s := &r.End.Streams[i]
		scale(&s.Sender)
		scale(&s.Receiver)
		scale(&s.UDP)
	}
}

func nanoseconds(s float64) int64 { return int64(math.Round(s * 1e9)) }

// traffic joins what the sender's end and the receiver's say. The duration is the client's: that of a server that was
// interrupted ends with its last whole interval (iperf3 3.12).
func traffic(f plan.Flow, sender, receiver, client *iperfReport) *Traffic {
	t := &Traffic{}
	receiving := 0
	for _, s := range sender.End.Streams {
		// The sender's side is the one marked so at the sender.
		if own := s.Sender; own.Sender {
			t.SentBytes += own.Bytes
			t.Retransmits += own.Retransmits
		}
		if own := s.UDP; own.Sender {
			t.SentBytes += own.Bytes
			t.DatagramsSent += own.Packets
		}
	}
	for _, s := range receiver.End.Streams {
		if f.Protocol == plan.UDP {
			if own := s.UDP; !own.Sender {
				receiving++
				t.DatagramsReceived += own.Packets - own.Lost
				t.DatagramsLost += own.Lost
				t.DatagramsOutOfOrder += own.OutOfOrder
				t.JitterNs += nanoseconds(own.JitterMs / 1e3)
			}
		} else if own := s.Receiver; !own.Sender {
			t.ReceivedBytes += own.Bytes
		}
	}
	if f.Protocol == plan.UDP {
		// iperf3 3.12 leaves the bytes of a receiver's datagrams out.
		t.ReceivedBytes = t.DatagramsReceived * int64(f.Length)
		t.JitterNs /= int64(max(1, receiving))
	}
	var last float64
	for _, s := range client.End.Streams {
		last = max(last, s.Sender.End, s.Receiver.End, s.UDP.End)
	}
	if t.DurationNs = nanoseconds(last); last > 0 {
		t.RateBps = float64(t.ReceivedBytes) * 8 / last
	}
	t.joinIntervals(sender, receiver)
	return t
}

// joinIntervals joins those of both ends by their numbers. A server that was interrupted repeats its last whole interval in
// place of the one after it (iperf3 3.12): what that had is the rest of the end's sum.
func (t *Traffic) joinIntervals(sender, receiver *iperfReport) {
	var sent, received, retransmits int64
	add := func(r *iperfReport, sends bool, count func(*Interval, iperfStream)) {
		before := -1.0
		for i, in := range r.Intervals {
			var start float64
			for _, s := range in.Streams {
				if s.Sender != sends || s.Start == before {
					continue
				}
				start = s.Start
				if i == len(t.Intervals) {
					t.Intervals = append(t.Intervals, Interval{StartNs: nanoseconds(s.Start), EndNs: nanoseconds(s.End)})
				}
				count(&t.Intervals[i], s)
			}
			before = start
		}
	}
	add(sender, true, func(i *Interval, s iperfStream) {
		i.SentBytes += s.Bytes
		i.Retransmits += s.Retransmits
		sent += s.Bytes
		retransmits += s.Retransmits
	})
	add(receiver, false, func(i *Interval, s iperfStream) {
		i.ReceivedBytes += s.Bytes
		received += s.Bytes
	})
	if len(t.Intervals) > 0 {
		last := &t.Intervals[len(t.Intervals)-1]
		last.SentBytes += t.SentBytes - sent
		last.ReceivedBytes += t.ReceivedBytes - received
		last.Retransmits += t.Retransmits - retransmits
	}
}
