package share

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"

	"airtide/internal/observe/source"
	"airtide/internal/share/cellkey"
	"airtide/internal/share/control"
	"airtide/internal/share/link"
)

// The test binary plays an agent when its environment says so, since what is killed or stopped must
// be a process.
const playsAgent = "AIRTIDE_SHARE_TEST_AGENT"

// order is the configuration of the agent.
type order struct {
	Key    string
	Policy control.Policy
	MaxBps float64
}

func init() {
	if text := os.Getenv(playsAgent); text != "" {
		os.Exit(playAgent(text))
	}
}

// playAgent shares until a signal ends it, and prints each status as a line of JSON.
func playAgent(text string) int {
	var o order
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := json.Unmarshal([]byte(text), &o)
	if err == nil {
		var key cellkey.Key
		key, err = cellkey.Parse(o.Key)
		if err == nil {
			encoder := json.NewEncoder(os.Stdout)
			err = Run(ctx, Config{
				Key: key, Policy: o.Policy, MaxBps: o.MaxBps, Interface: "eth0",
				Link: link.Config{Interface: "eth0"}, Source: source.BPF,
				MulticastBps: usualMulticast, Step: func(s Status) { _ = encoder.Encode(s) },
			})
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
