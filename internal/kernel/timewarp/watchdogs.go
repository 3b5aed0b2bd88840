package timewarp

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"airtide/internal/sys/file"
)

const (
	// stallMost is the longest time after which the kernel reports a stall of RCU, in seconds
	// (rcu_jiffies_till_stall_check).
	stallMost = 300
	// lockupMost is the longest time that it takes for lockups of processors, in seconds
	// (proc_watchdog_thresh).
	lockupMost = 60
	// softSlowest is the N below which the kernel reports soft lockups without a cause. A timer
	// marks a processor as alive every 2/5 of the limit by the warped clock. The check compares
	// with twice the limit by sched_clock, which is real (is_softlockup).
	softSlowest = 1.0 / 5
)

// watchdogFiles are the files of the kernel's watchdog timeouts, measured by the warped clock, and
// of their switches.
type watchdogFiles struct {
	stall, suppressStall string   // timeout of RCU stalls in seconds, and whether they are not reported
	lockup, hard, soft   string   // timeout of lockups in seconds, and whether hard and soft ones are detected
	others               []string // timeouts without a maximum; 0 is off, and stays so
}

func (k *Kernel) watchdogs() watchdogFiles {
	module := func(name string) string { return filepath.Join(k.sys, "module", name) }
	kernel := func(name string) string { return filepath.Join(k.proc, "sys/kernel", name) }
	return watchdogFiles{
		stall:         module("rcupdate/parameters/rcu_cpu_stall_timeout"),
		suppressStall: module("rcupdate/parameters/rcu_cpu_stall_suppress"),
		lockup:        kernel("watchdog_thresh"), hard: kernel("nmi_watchdog"), soft: kernel("soft_watchdog"),
		others: []string{
			module("rcupdate/parameters/rcu_task_stall_timeout"), // in ticks
			module("workqueue/parameters/watchdog_thresh"),
			kernel("hung_task_timeout_secs"),
		},
	}
}

// readWatchdogs reads the existing watchdog timeouts by file.
func (k *Kernel) readWatchdogs() (map[string]int, error) {
	w := k.watchdogs()
	values := map[string]int{}
	for _, path := range append(w.others, w.stall, w.suppressStall, w.lockup, w.hard, w.soft) {
		value, err := file.Number(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading a watchdog of the kernel: %w", err)
		}
		values[path] = value
	}
	return values, nil
}

// setWatchdogs scales the timeouts with N. A timeout that would be too long is switched off.
func (k *Kernel) setWatchdogs(real map[string]int, r Ratio) error {
	var failed error
	for path, value := range k.watchdogs().fitted(real, r) {
		// An unchanged value is not written: a write restarts the lockup detector, and a kernel
		// without one refuses it.
		if now, err := file.Number(path); err == nil && now == value {
			continue
		}
		if err := file.Set(path, strconv.Itoa(value)); err != nil {
			failed = errors.Join(failed, fmt.Errorf("fitting a watchdog of the kernel to the ratio: %w", err))
		}
	}
	return failed
}

// fitted returns the timeouts at N for the timeouts at N = 1.
func (w watchdogFiles) fitted(real map[string]int, r Ratio) map[string]int {
	n := int(math.Ceil(max(1, r.Float())))
	values := map[string]int{}
	for path, value := range real {
		values[path] = value
		if value == 0 {
			continue
		}
		switch path {
		case w.stall:
			values[path] = min(value*n, max(value, stallMost))
		case w.lockup:
			// Soft lockups are found by sched_clock, which is real. Without the hard lockup
			// detector no timeout is too short.
			if real[w.hard] != 0 && value*n <= lockupMost {
				values[path] = value * n
			}
		case w.hard:
			if real[w.lockup]*n > lockupMost {
				values[path] = 0
			}
		case w.soft:
			if r.Float() <= softSlowest {
				values[path] = 0
			}
		case w.suppressStall:
		default:
			values[path] = value * n
		}
	}
	if _, can := real[w.suppressStall]; can && n > 1 && real[w.stall]*n > stallMost {
		values[w.suppressStall] = 1
	}
	return values
}

// passGracePeriod waits until RCU's grace periods that have begun are over: each has the timeout of
// its beginning (record_gp_stall_check_time in kernel/rcu/tree_stall.h).
func passGracePeriod() error {
	const global = 1 // MEMBARRIER_CMD_GLOBAL of include/uapi/linux/membarrier.h
	if _, _, errno := unix.Syscall(unix.SYS_MEMBARRIER, global, 0, 0); errno != 0 {
		return fmt.Errorf("waiting for a grace period by membarrier: %w", errno)
	}
	return nil
}
