package timewarp

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// stallMost is the longest time after which the kernel reports a stall of RCU, in seconds (rcu_jiffies_till_stall_check).
const stallMost = 300

// watchdogs are the kernel's timeouts, in seconds of the warped clock, after which it reports something as stuck that may
// have taken a moment of real time. They are made N times as long; 0 is off, and stays so.
func (k *Kernel) watchdogs() (stall, suppressStall string, others []string) {
	module := func(name string) string { return filepath.Join(k.sys, "module", name) }
	return module("rcupdate/parameters/rcu_cpu_stall_timeout"), module("rcupdate/parameters/rcu_cpu_stall_suppress"), []string{
		module("workqueue/parameters/watchdog_thresh"),
		filepath.Join(k.proc, "sys/kernel/hung_task_timeout_secs"),
	}
}

// readWatchdogs reads what there is of them, by their files.
func (k *Kernel) readWatchdogs() (map[string]int, error) {
	stall, suppress, others := k.watchdogs()
	values := map[string]int{}
	for _, file := range append(others, stall, suppress) {
		value, err := readNumber(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading a watchdog of the kernel: %w", err)
		}
		values[file] = value
	}
	return values, nil
}

// setWatchdogs fits them to N. Where RCU's can not be made as long it is switched off.
func (k *Kernel) setWatchdogs(real map[string]int, r Ratio) error {
	n := int(math.Ceil(max(1, r.Float())))
	stall, suppress, _ := k.watchdogs()
	var failed error
	for file, seconds := range real {
		value := seconds * n
		switch {
		case file == stall:
			value = min(value, max(seconds, stallMost))
		case file == suppress && real[stall]*n > stallMost && n > 1:
			value = 1
		case file == suppress:
			value = seconds
		}
		if err := os.WriteFile(file, []byte(strconv.Itoa(value)+"\n"), 0o644); err != nil {
			failed = errors.Join(failed, fmt.Errorf("fitting a watchdog of the kernel to the ratio: %w", err))
		}
	}
	return failed
}

// passGracePeriod waits until RCU's grace periods that have begun are over: each has the timeout of its beginning
// (record_gp_stall_check_time in kernel/rcu/tree_stall.h).
func passGracePeriod() error {
	const global = 1 // MEMBARRIER_CMD_GLOBAL of include/uapi/linux/membarrier.h
	if _, _, errno := unix.Syscall(unix.SYS_MEMBARRIER, global, 0, 0); errno != 0 {
		return fmt.Errorf("waiting for a grace period by membarrier: %w", errno)
	}
	return nil
}
