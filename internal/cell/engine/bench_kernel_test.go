//go:build kernel

package engine

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/test/testnet"
)

// iperf runs iperf3 from the station to the server, or back with -R, and gives the rate at the
// receiver in bit/s.
func iperf(b *testing.B, e *Engine, seconds int, args ...string) float64 {
	b.Helper()
	server := exec.Command("iperf3", "-s", "-1")
	in(b, e, "server", server.Start)
	defer func() { _ = server.Process.Kill(); _ = server.Wait() }()
	var report struct {
		Error string `json:"error"`
		End   struct {
			Received struct {
				Rate float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		} `json:"end"`
	}
	testnet.Eventually(b, 5*time.Second, "iperf3 to listen", func() bool {
		var out strings.Builder
		client := exec.Command("iperf3",
			append([]string{"-c", "10.88.1.1", "-t", fmt.Sprint(seconds), "-J"}, args...)...)
		client.Stdout = &out
		in(b, e, "station", client.Start)
		// It may end with status 0 though it could not connect.
		report.Error = ""
		return client.Wait() == nil && json.Unmarshal([]byte(out.String()), &report) == nil && report.Error == ""
	})
	return report.End.Received.Rate
}

func packets(s *Status) (n uint64) {
	for _, p := range s.Ports {
		n += p.PacketsOut
	}
	return n
}

// BenchmarkThroughput sends by TCP over a line without limit or delay. One iteration takes three
// seconds; CPU is that of the engine's thread for each packet carried, data or ACK, and contains
// the receiver's TCP input.
func BenchmarkThroughput(b *testing.B) {
	for _, mode := range []struct {
		name             string
		coalesce, supers bool
	}{
		{"packets", false, false},
		{"coalesced", true, false},
		{"supers", false, true},
		{"supers-coalesced", true, true},
	} {
		for _, direction := range []string{"up", "down"} {
			b.Run(mode.name+"/"+direction, func(b *testing.B) {
				c := pair(lineConfig{Limit: 1000})
				c.Coalesce = mode.coalesce
				c.Supers = mode.supers
				var args []string
				if direction == "down" {
					args = []string{"-R"}
				}
				e := start(b, c)
				var rate float64
				n := 0
				before := status(b, e)
				for b.Loop() {
					rate += iperf(b, e, 3, args...)
					n++
				}
				after := status(b, e)
				b.ReportMetric(rate/float64(n)/1e6, "Mbit/s")
				b.ReportMetric(float64(after.CPUNs-before.CPUNs)/1e3/float64(packets(after)-packets(before)),
					"µs/packet")
				b.ReportMetric(float64(after.Lag.P999Ns)/1e3, "lag-p99.9-µs")
				b.ReportMetric(float64(after.Turn.MaxNs)/1e3, "turn-max-µs")
			})
		}
	}
}

// BenchmarkStart starts and stops an engine.
func BenchmarkStart(b *testing.B) {
	for _, n := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("stations=%d", n), func(b *testing.B) {
			c := stations(pair(lineConfig{}), n)
			for b.Loop() {
				e, err := Start(b.Context(), c)
				if err != nil {
					b.Fatal(err)
				}
				if err := e.Stop(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkStatus asks 64 stations' engine for its status as fast as it answers, and reports what
// an answer costs the engine's thread.
func BenchmarkStatus(b *testing.B) {
	e := start(b, stations(pair(lineConfig{Observed: 64 * 1024}), 64))
	before := status(b, e)
	n := 0
	for b.Loop() {
		status(b, e)
		n++
	}
	after := status(b, e)
	b.ReportMetric(float64(after.CPUNs-before.CPUNs)/1e3/float64(n), "engine-µs/op")
	b.ReportMetric(float64(after.Turn.P99Ns)/1e3, "turn-p99-µs")
	b.ReportMetric(float64(after.Turn.MaxNs)/1e3, "turn-max-µs")
}

// BenchmarkWire sends by TCP over wires of given rates, with and without a quantum.
func BenchmarkWire(b *testing.B) {
	for _, mbps := range []int{100, 1000} {
		for _, quantum := range []time.Duration{0, 50 * time.Microsecond} {
			b.Run(fmt.Sprintf("%dMbps/quantum=%s", mbps, quantum), func(b *testing.B) {
				c := pair(lineConfig{RateBps: float64(mbps) * 1e6, DelayNs: 1e6, Limit: 1000})
				c.Quantum = quantum
				e := start(b, c)
				var rate float64
				n := 0
				before := status(b, e)
				for b.Loop() {
					rate += iperf(b, e, 3)
					n++
				}
				after := status(b, e)
				b.ReportMetric(rate/float64(n)/1e6, "Mbit/s")
				b.ReportMetric(float64(after.CPUNs-before.CPUNs)/float64(after.TimeNs-before.TimeNs), "cores")
				b.ReportMetric(float64(after.Lag.P50Ns)/1e3, "lag-p50-µs")
				b.ReportMetric(float64(after.Lag.P999Ns)/1e3, "lag-p99.9-µs")
			})
		}
	}
}

// BenchmarkDelay sends a probe each millisecond in both directions over a line of 10 ms, beside TCP
// at a given rate, and reports by how much the time until the receiver's kernel has it differs from
// 10 ms.
func BenchmarkDelay(b *testing.B) {
	const delay = 10 * time.Millisecond
	for _, c := range []struct {
		mbps   int
		supers bool // read and written
	}{{100, false}, {500, false}, {500, true}} {
		b.Run(fmt.Sprintf("%dMbps/supers=%v", c.mbps, c.supers), func(b *testing.B) {
			config := pair(lineConfig{DelayNs: int64(delay)})
			config.Coalesce = c.supers
			config.Supers = c.supers
			e := start(b, config)
			var up, down []int64
			stolen, all := processorTime(b)
			for b.Loop() {
				stop := make(chan struct{})
				done := make(chan []int64, 2)
				go func() { done <- probe(b, e, "server", "station", "10.88.0.1", stop) }()
				other := make(chan []int64, 1)
				go func() { other <- probe(b, e, "station", "server", "10.88.1.1", stop) }()
				iperf(b, e, 5, "--fq-rate", fmt.Sprintf("%dM", c.mbps)) // paced: no bursts to catch up
				close(stop)
				down = append(down, <-done...)
				up = append(up, <-other...)
			}
			for name, delays := range map[string][]int64{"up": up, "down": down} {
				slices.Sort(delays)
				for _, q := range []struct {
					name string
					at   float64
				}{{"p50", .5}, {"p99", .99}, {"p99.9", .999}, {"max", 1}} {
					d := delays[min(int(q.at*float64(len(delays))), len(delays)-1)] - int64(delay)
					b.ReportMetric(float64(d)/1e3, name+"-"+q.name+"-µs")
				}
			}
			nowStolen, nowAll := processorTime(b)
			b.ReportMetric(100*(nowStolen-stolen)/max(nowAll-all, 1), "stolen-%")
			s := status(b, e)
			b.ReportMetric(float64(s.CPUNs)/float64(s.TimeNs), "cores")
			b.ReportMetric(float64(s.Lag.P99Ns)/1e3, "lag-p99-µs")
			b.ReportMetric(float64(s.Lag.MaxNs)/1e3, "lag-max-µs")
			b.ReportMetric(float64(s.Wake.P99Ns)/1e3, "wake-p99-µs")
			b.ReportMetric(float64(s.Turn.P99Ns)/1e3, "turn-p99-µs")
		})
	}
}

// processorTime returns the processor time that the host of a virtual machine has given to others
// (proc_stat(5)), and the whole processor time.
func processorTime(b *testing.B) (stolen, all float64) {
	b.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		b.Fatal(err)
	}
	line, _, _ := strings.Cut(string(text), "\n")
	const steal = 7
	for i, field := range strings.Fields(line)[1:9] { // those behind it are contained in the first
		ticks, err := strconv.ParseFloat(field, 64)
		if err != nil {
			b.Fatal(err)
		}
		all += ticks
		if i == steal {
			stolen = ticks
		}
	}
	return stolen, all
}

// probe has datagrams sent with the time in them and gives the delays until the receiver's kernel
// stamped them. The sender runs ahead of the engine, so that its stamp is not taken long before the
// datagram is sent.
func probe(b *testing.B, e *Engine, from, to, address string, stop <-chan struct{}) (delays []int64) {
	var receiver int
	in(b, e, to, func() (err error) {
		receiver, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return err
		}
		timeout := unix.NsecToTimeval(2e8)
		for _, err := range []error{
			unix.SetsockoptInt(receiver, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1),
			unix.SetsockoptInt(receiver, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, 8<<20),
			unix.SetsockoptTimeval(receiver, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout),
			unix.Bind(receiver, &unix.SockaddrInet4{Port: 7}),
		} {
			if err != nil {
				return err
			}
		}
		return nil
	})
	defer unix.Close(receiver)
	sender := exec.Command(os.Args[0])
	sender.Env = append(os.Environ(), probeVariable+"="+address)
	in(b, e, from, func() error { return withPriority(DefaultPriority+1, sender.Start) })
	defer func() { _ = sender.Wait() }()
	defer func() { _ = sender.Process.Kill() }()
	data := make([]byte, 64)
	control := make([]byte, 128)
	for {
		n, c, _, _, err := unix.Recvmsg(receiver, data, control, 0)
		if err != nil {
			select {
			case <-stop:
				return delays
			default:
				continue
			}
		}
		messages, err := unix.ParseSocketControlMessage(control[:c])
		if err != nil || n != 8 {
			b.Error("a probe without a time stamp", err)
			continue
		}
		stamp := binary.NativeEndian.Uint64(messages[0].Data)*1e9 + binary.NativeEndian.Uint64(messages[0].Data[8:])
		delays = append(delays, int64(stamp-binary.NativeEndian.Uint64(data)))
	}
}
