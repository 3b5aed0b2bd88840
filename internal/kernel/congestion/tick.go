package congestion

import (
	"encoding/binary"
	"fmt"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"airtide/internal/sys/clock"
)

// TickRate returns the kernel's CONFIG_HZ, the number of timer ticks (jiffies) per second.
func TickRate() (int, error) {
	hz, err := clock.TickRate(readJiffies)
	if err != nil {
		return 0, fmt.Errorf("finding the kernel's tick rate: %w", err)
	}
	return hz, nil
}

func readJiffies() (uint32, error) {
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
	return uint32(binary.NativeEndian.Uint64(context)), nil
}
