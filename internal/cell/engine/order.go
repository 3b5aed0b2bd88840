package engine

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// keepOrder makes one processor handle all packets that arrive on a device, by receive packet
// steering (Documentation/networking/scaling.rst). Call it in the device's namespace. Without it a
// veth queues a packet on the sender's processor, so packets of a connection that sends from two
// processors overtake each other.
func keepOrder(device string, index int) error {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return fmt.Errorf("asking for the processors to run on: %w", err)
	}
	if allowed.Count() < 2 {
		return nil
	}
	file, err := openSysfs("class/net/"+device+"/queues/rx-0/rps_cpus", unix.O_WRONLY)
	if errors.Is(err, os.ErrNotExist) {
		return nil // without CONFIG_RPS, so without SMP: there is one processor
	}
	if err != nil {
		return fmt.Errorf("keeping packets in order: %w", err)
	}
	defer unix.Close(file)
	if _, err := unix.Write(file, []byte(cpuMask(nthCPU(&allowed, index)))); err != nil {
		return fmt.Errorf("keeping packets in order on %s: %w", device, err)
	}
	return nil
}

// nthCPU spreads devices over the processors of a set.
func nthCPU(set *unix.CPUSet, n int) int {
	n %= set.Count()
	for cpu := 0; ; cpu++ {
		if set.IsSet(cpu) {
			if n == 0 {
				return cpu
			}
			n--
		}
	}
}

// cpuMask is one processor as the kernel writes sets: hexadecimal words of 32 bits, the highest
// first.
func cpuMask(cpu int) string {
	return fmt.Sprintf("%x", 1<<(cpu%32)) + strings.Repeat(",00000000", cpu/32)
}
