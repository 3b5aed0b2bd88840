package congestion

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// TickRate is the kernel's CONFIG_HZ: how many ticks (jiffies), in which it counts its timers, a second has.
func TickRate() (int, error) { return tickRate() }

// tickRate finds CONFIG_HZ, which no interface of the kernel tells: of the rates that kernel/Kconfig.hz offers, the one at
// which the count of ticks (jiffies) since boot is the monotonic clock. The count begins 300 s before the end of 32 bits
// (INITIAL_JIFFIES).
func tickRate() (int, error) {
	jiffies, err := readJiffies()
	if err != nil {
		return 0, fmt.Errorf("finding the kernel's tick rate: %w", err)
	}
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return 0, fmt.Errorf("finding the kernel's tick rate: %w", err)
	}
	return nearestTickRate(jiffies, float64(now.Nano())/1e9), nil
}

func nearestTickRate(jiffies uint64, seconds float64) (best int) {
	distance := math.Inf(1)
	for _, hz := range []int{100, 250, 300, 1000} {
		ticks := float64(int64(jiffies) - (1<<32 - 300*int64(hz)))
		if d := math.Abs(ticks/float64(hz) - seconds); d < distance {
			best, distance = hz, d
		}
	}
	return best
}

func readJiffies() (uint64, error) {
	program, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "airtide_jiffies", Type: ebpf.Syscall, Flags: unix.BPF_F_SLEEPABLE, License: "GPL",
		Instructions: asm.Instructions{
			asm.Mov.Reg(asm.R6, asm.R1),
			asm.FnJiffies64.Call(),
			asm.StoreMem(asm.R6, 0, asm.R0, asm.DWord),
			asm.Mov.Imm(asm.R0, 0),
			asm.Return(),
		},
	})
	if err != nil {
		return 0, err
	}
	defer program.Close()
	context := make([]byte, 8)
	if _, err := program.Run(&ebpf.RunOptions{Context: context, ContextOut: context}); err != nil {
		return 0, err
	}
	return binary.NativeEndian.Uint64(context), nil
}
