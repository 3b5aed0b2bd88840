package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/kernel/congestion"
	"airtide/internal/kernel/tune"
)

// tuneFlags are the settings as the user writes them.
type tuneFlags struct {
	tune.Settings
	pacing, sndbuf, rcvbuf, lowat, clamp string
	initialRTO, minRTO, maxRTO, delack   time.Duration
}

func (f *tuneFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.Uint32Var(
		&f.CwndMaxPackets,
		"cwnd-max",
		0,
		"upper bound of the congestion window in packets (sockets without cubic_bound: by the socket option, which "+
			"overwrites ssthresh)",
	)
	fl.Uint32Var(&f.CwndMinPackets, "cwnd-min", 0, "lower bound of the congestion window in packets (cubic_bound only)")
	fl.Uint32Var(
		&f.InitialWindowPackets,
		"initial-window",
		0,
		"congestion window in packets with which new sockets start",
	)
	fl.StringVar(&f.CongestionControl, "cc", "", "congestion control")
	fl.StringVar(&f.pacing, "pacing-rate", "", "highest sending rate in bit/s, such as 20M")
	fl.StringVar(&f.sndbuf, "send-buffer", "", "send buffer in bytes as SO_SNDBUF takes it, such as 256k")
	fl.StringVar(&f.rcvbuf, "receive-buffer", "", "receive buffer in bytes as SO_RCVBUF takes it")
	fl.StringVar(&f.lowat, "notsent-lowat", "", "bytes that may wait unsent (TCP_NOTSENT_LOWAT)")
	fl.StringVar(&f.clamp, "window-clamp", "", "largest window in bytes that a receiver advertises (TCP_WINDOW_CLAMP)")
	fl.DurationVar(&f.initialRTO, "rto-initial", 0, "timeout of SYN and SYN-ACK of new connections")
	fl.DurationVar(&f.minRTO, "rto-min", 0, "minimum retransmission timeout; above 200ms by routes to the peers")
	fl.DurationVar(&f.maxRTO, "rto-max", 0, "maximum retransmission timeout, 1s to 120s (Linux 6.15)")
	fl.DurationVar(&f.delack, "delayed-ack", 0, "longest delay of an ACK, at most 200ms")
	_ = cmd.RegisterFlagCompletionFunc(
		"cc",
		func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			names, _ := congestion.Available()
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	)
}

// settings reads the flags.
func (f *tuneFlags) settings() (tune.Settings, error) {
	s := f.Settings
	for _, q := range []struct {
		flag, text string
		thousand   float64
		set        func(uint64)
		most       uint64
	}{
		{"pacing-rate", f.pacing, 1000, func(n uint64) { s.PacingRateBps = n }, math.MaxInt64},
		{"send-buffer", f.sndbuf, 1024, func(n uint64) { s.SendBufferBytes = uint32(n) }, math.MaxUint32},
		{"receive-buffer", f.rcvbuf, 1024, func(n uint64) { s.ReceiveBufferBytes = uint32(n) }, math.MaxUint32},
		{"notsent-lowat", f.lowat, 1024, func(n uint64) { s.NotSentLowatBytes = uint32(n) }, math.MaxUint32},
		{"window-clamp", f.clamp, 1024, func(n uint64) { s.WindowClampBytes = uint32(n) }, math.MaxUint32},
	} {
		if q.text == "" {
			continue
		}
		n, err := parseQuantity(q.text, q.thousand)
		if err != nil || n > q.most {
			return s, fmt.Errorf("--%s %q: want a number, which k, M or G may follow", q.flag, q.text)
		}
		q.set(n)
	}
	for _, d := range []struct {
		flag string
		time time.Duration
		to   *uint32
	}{
		{"rto-initial", f.initialRTO, &s.InitialRTOUs},
		{"rto-min", f.minRTO, &s.MinRTOUs},
		{"rto-max", f.maxRTO, &s.MaxRTOUs},
		{"delayed-ack", f.delack, &s.MaxDelayedAckUs},
	} {
		us := d.time.Microseconds()
		if us < 0 || us > math.MaxUint32 || (us == 0 && d.time != 0) {
			return s, fmt.Errorf("--%s %s: want 1ms to 120s", d.flag, d.time)
		}
		*d.to = uint32(us)
	}
	return s, s.Check()
}

// parseQuantity reads a positive number with a unit of thousands.
func parseQuantity(s string, thousand float64) (uint64, error) {
	factor := 1.0
	if i := strings.IndexByte("kMG", s[len(s)-1]); i >= 0 {
		factor = math.Pow(thousand, float64(i+1))
		s = s[:len(s)-1]
	}
	v, err := strconv.ParseFloat(s, 64)
	if n := v * factor; err == nil && n >= 1 && n < math.MaxInt64 {
		return uint64(math.Round(n)), nil
	}
	return 0, fmt.Errorf("%q is no positive number", s)
}
