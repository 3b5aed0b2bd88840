package screen

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"testing"
	"time"

	"airtide/internal/tcp"
)

// TestMain is also a demonstration: with SCREEN_DEMO=40 the test binary shows 40 synthetic
// connections on the full screen instead of running the tests, to look at it in a real terminal.
func TestMain(m *testing.M) {
	if n, err := strconv.Atoi(os.Getenv("SCREEN_DEMO")); err == nil {
		s := &synthetic{flows: n}
		table := NewTable(TableOptions{})
		table.SetSource(Source{Name: "synthetic, per ACK"})
		if err := Run(context.Background(), table, Options{Source: s.source}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// synthetic is a source of made-up connections: a sawtooth of cwnd with a loss at its top, and an
// RTT that follows it.
type synthetic struct {
	flows int
	steps int
	acked []int64
}

const stepNs = 10_000_000

var (
	comms = []string{"iperf3", "curl", "sshd", "nginx", "chrome", "rsync"}
	ccs   = []string{"cubic", "bbr", "reno", "cubic"}
)

func (s *synthetic) flow(i int, nowNs int64) *tcp.Flow {
	f := &tcp.Flow{
		ID: tcp.FlowID(i + 1), PID: uint32(1000 + 7*i), Comm: comms[i%len(comms)], CongestionControl: ccs[i%len(ccs)],
		Local:   netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, 1}), uint16(40000+i%20000)),
		Remote:  netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(i)}), 443),
		FirstNs: nowNs,
	}
	switch i % 8 {
	case 5:
		f.Remote = netip.MustParseAddrPort("[2001:db8:85a3:8d3:1319:8a2e:370:7348]:8443")
	case 7:
		f.PID = 0
		f.Comm = ""
	}
	return f
}

func (s *synthetic) announce(sink tcp.Sink, nowNs int64) error {
	s.acked = make([]int64, s.flows)
	for i := range s.flows {
		f := s.flow(i, nowNs)
		if err := sink.Flow(f); err != nil {
			return err
		}
	}
	return nil
}

// step makes one sample per busy flow, and the events of the moment. Every sixth flow is idle.
func (s *synthetic) step(sink tcp.Sink, nowNs int64) error {
	b := tcp.NewBatch(s.flows)
	for i := range s.flows {
		if i%6 == 4 && s.steps > 20 {
			continue
		}
		period := 300 + 70*(i%5)
		phase := (s.steps + 53*i) % period
		cwnd := int64(20 + 10*(i%7) + phase/3)
		rtt := int64(20_000 + 3_000*(i%9) + 60*phase)
		s.acked[i] += cwnd * 1448 / 4
		x := sample(tcp.FlowID(i+1), nowNs, map[tcp.Field]int64{
			tcp.CwndPackets: cwnd, tcp.SsthreshPackets: 20 + int64(10*(i%7)), tcp.InFlightPackets: cwnd - 2,
			tcp.MSSBytes: 1448,
			tcp.SrttUs:   rtt - 500, tcp.RttUs: rtt + int64(s.steps*7919%900), tcp.MinRttUs: 20_000,
			tcp.RttvarUs: 900, tcp.RTOUs: 220_000, tcp.Backoff: 0,
			tcp.AckedBytes: s.acked[i], tcp.SentBytes: s.acked[i] + cwnd*1448,
			tcp.WrittenBytes:  s.acked[i] + cwnd*1448 + int64(i%3)*90_000,
			tcp.ReceivedBytes: s.acked[i] / int64(50+i), tcp.ReadBytes: s.acked[i] / int64(50+i),
			tcp.StateField: int64(tcp.StateEstablished), tcp.CAStateField: int64(tcp.CAOpen),
			tcp.RetransmitsPackets: int64(s.steps / period), tcp.LostPackets: int64(s.steps / period),
			tcp.SendWindowBytes: 3 << 20, tcp.ReceiveWindowBytes: 65536, tcp.DeliveryRateBps: cwnd * 1448 * 8 * 25,
			tcp.PacingRateBps:    cwnd * 1448 * 8 * 30,
			tcp.DeviceQueueBytes: cwnd * 300,
		})
		if phase == 0 && s.steps > 0 {
			x.Values[tcp.CAStateField] = int64(tcp.CARecovery)
			if err := s.loss(sink, x, i); err != nil {
				return err
			}
		}
		b.Append(x)
	}
	s.steps++
	return sink.Samples(b)
}

func (s *synthetic) loss(sink tcp.Sink, x *tcp.Sample, i int) error {
	e := tcp.Event{TimeNs: x.TimeNs, Flow: x.Flow, CwndPackets: uint32(x.Values[tcp.CwndPackets]), SsthreshPackets: 20}
	seq := x.Values[tcp.AckedBytes]
	for range 3 {
		e.Kind = tcp.EventSack
		e.Code = tcp.CodeDupAck
		e.NumBlocks = 1
		e.Blocks[0] = tcp.Block{
			Start: seq + 1448,
			End:   seq + 5792,
		}
		if err := sink.Event(&e); err != nil {
			return err
		}
	}
	e.CAState = tcp.CARecovery
	for _, next := range []tcp.Event{
		{Kind: tcp.EventCAState, From: uint8(tcp.CAOpen), To: uint8(tcp.CARecovery)},
		{Kind: tcp.EventRetransmit, Cause: tcp.CauseFast, Seq: seq, EndSeq: seq + 1448},
		{Kind: tcp.EventTimeout, Code: tcp.CodeTimeout, Value: 220_000},
	}[:2+i%11/10] {
		next.TimeNs = x.TimeNs
		next.Flow = x.Flow
		next.CAState = e.CAState
		next.CwndPackets = e.CwndPackets
		if err := sink.Event(&next); err != nil {
			return err
		}
	}
	return nil
}

// source runs in real time. Its third flow closes after five seconds, and some records are lost
// after fifteen.
func (s *synthetic) source(ctx context.Context, sink tcp.Sink) error {
	nowNs, _ := SystemClock()
	if err := s.announce(sink, nowNs); err != nil {
		return err
	}
	ticks := time.NewTicker(100 * time.Millisecond)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticks.C:
		}
		until, _ := SystemClock()
		for ; nowNs < until; nowNs += stepNs {
			if err := s.step(sink, nowNs); err != nil {
				return err
			}
			switch s.steps {
			case 500:
				if err := sink.Event(
					&tcp.Event{TimeNs: nowNs, Flow: 3, Kind: tcp.EventClose, Reason: tcp.ReasonResetReceived},
				); err != nil {
					return err
				}
			case 1500:
				if err := sink.Lost(&tcp.Loss{TimeNs: nowNs, PerCPU: []uint64{0, 1234}}); err != nil {
					return err
				}
			}
		}
	}
}

// sample makes a sample with the given fields; the others are absent.
func sample(id tcp.FlowID, ns int64, fields map[tcp.Field]int64) *tcp.Sample {
	s := &tcp.Sample{TimeNs: ns, Flow: id}
	for f := range s.Values {
		s.Values[f] = tcp.Absent
	}
	for f, v := range fields {
		s.Values[f] = v
	}
	return s
}
