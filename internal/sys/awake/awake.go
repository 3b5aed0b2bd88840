// Package awake keeps processors from going to sleep while something has to happen on time. A
// processor that sleeps takes tens of microseconds to wake, and one of a virtual machine
// milliseconds, because the host gives it to others meanwhile.
package awake

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

const (
	// device takes the longest time in microseconds that a processor may need to wake up, and keeps
	// to it until it is closed (Documentation/power/pm_qos_interface.rst). With 0 an idle processor
	// polls (kernel/sched/idle.c, drivers/cpuidle/governors).
	device = "/dev/cpu_dma_latency"
	driver = "/sys/devices/system/cpu/cpuidle/current_driver"
)

// ErrNoEffect means that this kernel has no driver that could keep processors from sleeping.
var ErrNoEffect = errors.New("the kernel has no cpuidle driver")

// Keep keeps all processors awake until the result is closed, or the process ends. It needs root
// (the device's owner), and a kernel with CONFIG_CPU_IDLE. Idle processors then take as much power
// as busy ones.
func Keep() (io.Closer, error) {
	name, err := os.ReadFile(driver)
	if err != nil || strings.TrimSpace(string(name)) == "none" {
		return nil, ErrNoEffect
	}
	f, err := os.OpenFile(device, os.O_WRONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("keeping processors awake: %w", err)
	}
	if _, err := f.Write(binary.NativeEndian.AppendUint32(nil, 0)); err != nil {
		f.Close()
		return nil, fmt.Errorf("keeping processors awake: %w", err)
	}
	return f, nil
}
