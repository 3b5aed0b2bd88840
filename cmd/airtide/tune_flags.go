package main

import (
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/kernel/congestion"
	"airtide/internal/kernel/congestion/kind"
	"airtide/internal/kernel/tune"
	"airtide/internal/units"
)

// tuneFlags are the settings as the user writes them.
type tuneFlags struct {
	tune.Settings
	given                              func(flag string) bool
	initialRTO, minRTO, maxRTO, delack time.Duration
}

func (f *tuneFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	f.given = fl.Changed
	fl.Var(units.WholeFlag(&f.CwndMaxPackets, kind.MinBound, kind.MaxBound), "cwnd-max",
		"upper bound of the congestion window in packets, at least 2 (sockets without cubic_bound: by the socket "+
			"option, which overwrites ssthresh)")
	fl.Var(units.WholeFlag(&f.CwndMinPackets, kind.MinBound, kind.MaxBound), "cwnd-min",
		"lower bound of the congestion window in packets, at least 2 (cubic_bound only)")
	fl.Var(units.WholeFlag(&f.InitialWindowPackets, 1, tune.MaxWindow), "initial-window",
		"congestion window in packets with which new sockets start")
	fl.StringVar(&f.CongestionControl, "cc", "", "congestion control")
	fl.Var(units.BitRateFlag(&f.PacingRateBps), "pacing-rate", "highest sending rate, such as 20M or 20 Mbit/s")
	for _, buffer := range []struct {
		to          *uint32
		name, usage string
	}{
		{&f.SendBufferBytes, "send-buffer", "send buffer as SO_SNDBUF takes it, such as 256k (of 1024 B) or 256 kB"},
		{&f.ReceiveBufferBytes, "receive-buffer", "receive buffer as SO_RCVBUF takes it"},
		{&f.NotSentLowatBytes, "notsent-lowat", "bytes that may wait unsent (TCP_NOTSENT_LOWAT)"},
		{&f.WindowClampBytes, "window-clamp", "largest window that a receiver advertises (TCP_WINDOW_CLAMP)"},
	} {
		fl.Var(units.BufferSizeFlag(buffer.to), buffer.name, buffer.usage)
	}
	durationVar(fl, &f.initialRTO, "rto-initial", "", 0, "timeout of SYN and SYN-ACK of new connections")
	durationVar(fl, &f.minRTO, "rto-min", "", 0,
		"minimum retransmission timeout; above 200 ms by routes to the peers")
	durationVar(fl, &f.maxRTO, "rto-max", "", 0, "maximum retransmission timeout, 1 s to 120 s (Linux 6.15)")
	durationVar(fl, &f.delack, "delayed-ack", "", 0, "longest delay of an ACK, at most 200 ms")
	_ = cmd.RegisterFlagCompletionFunc(
		"cc",
		func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			names, _ := congestion.Available()
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	)
}

// settings returns the settings that the flags ask for.
func (f *tuneFlags) settings() (tune.Settings, error) {
	s := f.Settings
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
		if us > math.MaxUint32 || us == 0 && f.given(d.flag) {
			return s, fmt.Errorf("--%s %s: want 1 ms to 120 s", d.flag, units.Duration(d.time))
		}
		*d.to = uint32(us)
	}
	return s, s.Check()
}
