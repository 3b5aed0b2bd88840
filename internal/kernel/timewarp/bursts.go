package timewarp

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"airtide/internal/kernel/sockets/owner"
	"airtide/internal/sys/file"
)

// scaledBursts holds the previous values of the settings that keep bursts as large as at N = 1.
type scaledBursts struct {
	NetNS uint32 `json:"netns"`
	// Before and Set are values of settings in net/ipv4, by name.
	Before map[string]int `json:"before"`
	Set    map[string]int `json:"set"`
}

// mostPacingRatio is the kernel's, in percent (net/ipv4/sysctl_net_ipv4.c).
const mostPacingRatio = 1000

// burstSettings are the settings of net/ipv4 that depend on N, with their new values.
//
// TCP sizes a burst as sk_pacing_rate times 1 ms plus gso_max_size >> (min_rtt >> tcp_tso_rtt_log)
// (tcp_tso_autosize, net/ipv4/tcp_output.c). tcp_small_queue_check limits the device's queue to the
// same size. With a clock N times as fast both are N times smaller. Small segments fill a send
// buffer with less data, so the window shrinks too.
var burstSettings = map[string]func(before int, n float64) int{
	"tcp_pacing_ss_ratio": scaledRatio,
	"tcp_pacing_ca_ratio": scaledRatio,
	"tcp_tso_rtt_log": func(before int, n float64) int { // Linux 5.18
		return min(max(before+int(math.Round(math.Log2(n))), 0), 31)
	},
}

func scaledRatio(before int, n float64) int {
	return min(max(int(math.Round(float64(before)*n)), 1), mostPacingRatio)
}

// errPaced means that bursts cannot be as large as at N = 1.
var errPaced = errors.New("the queueing discipline fq paces by the same rate")

// setBursts restores the burst settings of an earlier N, then scales them for this N if wanted.
func (k *Kernel) setBursts(s *state, r Ratio, wanted bool) error {
	if err := k.undoBursts(s); err != nil {
		return err
	}
	if !wanted || r == One {
		return nil
	}
	if qdisc, err := file.Line(filepath.Join(k.proc, "sys/net/core/default_qdisc")); err == nil && qdisc == "fq" {
		return errPaced
	}
	netns, err := owner.SelfNetNS()
	if err != nil {
		return fmt.Errorf("looking for this network namespace: %w", err)
	}
	b := &scaledBursts{NetNS: netns, Before: map[string]int{}, Set: map[string]int{}}
	for name, scaled := range burstSettings {
		before, err := k.readIPv4(name)
		if errors.Is(err, os.ErrNotExist) {
			continue // an older kernel
		}
		if err != nil {
			return err
		}
		b.Set[name] = scaled(before, r.Float())
		b.Before[name] = before
	}
	s.Bursts = b
	if err := k.writeState(s); err != nil {
		return err
	}
	for name, value := range b.Set {
		if err := k.writeIPv4(name, value); err != nil {
			return errors.Join(err, k.undoBursts(s))
		}
	}
	return nil
}

// undoBursts gives the namespace its settings back, unless somebody has chosen others meanwhile.
func (k *Kernel) undoBursts(s *state) error {
	if s.Bursts == nil {
		return nil
	}
	err := inNetNS(s.Bursts.NetNS, func() error {
		for name, value := range s.Bursts.Set {
			now, err := k.readIPv4(name)
			if err != nil {
				return err
			}
			if now != value {
				continue
			}
			if err := k.writeIPv4(name, s.Bursts.Before[name]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("giving TCP its bursts back: %w", err)
	}
	s.Bursts = nil
	return k.writeState(s)
}

func (k *Kernel) ipv4(name string) string { return filepath.Join(k.proc, "sys/net/ipv4", name) }

func (k *Kernel) readIPv4(name string) (int, error) {
	value, err := file.Number(k.ipv4(name))
	if err != nil {
		return 0, fmt.Errorf("reading net.ipv4.%s: %w", name, err)
	}
	return value, nil
}

func (k *Kernel) writeIPv4(name string, value int) error {
	if err := file.Set(k.ipv4(name), strconv.Itoa(value)); err != nil {
		return fmt.Errorf("setting net.ipv4.%s to %d: %w", name, value, err)
	}
	return nil
}
