package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/doctor"
	"airtide/internal/vm"
)

// netemRate and netemDelay suit an emulated processor, which carries little.
const (
	netemRate  = 20
	netemDelay = 10 * time.Millisecond
)

// netem compares a wire and a delay with netem: on this kernel where it has that, else in a guest
// with Debian's.
func (b *bench) netem(ctx context.Context) error {
	if !doctor.HasQdisc("netem") {
		return b.inGuest(ctx)
	}
	rate := strconv.Itoa(netemRate) + "mbit"
	return b.table(ctx, fmt.Sprintf("A wire of %d Mbit/s and %s each way, TCP", netemRate, netemDelay), []way{
		{"netem on a veth pair, without offloads", onVeth(fmt.Sprintf("netem rate %s delay %s limit 1000", rate,
			netemDelay)), nil},
		{"tbf on a veth pair, without delay", onVeth(bucket(rate)), nil},
		{"airtide, packet by packet", onWire(netemRate*1e6, netemDelay, per), nil},
		{"airtide, super-packets at the ends", onWire(netemRate*1e6, netemDelay, both), nil},
	})
}

// seeOwnProcesses mounts a /proc that shows the numbers of the PID namespace that commands of a
// guest have.
func seeOwnProcesses() error {
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	return nil
}

// guestKernel is the guest's kernel. guestModules are its modules besides the guest's devices.
const guestKernel = "6.12"

var (
	guestModules  = []string{"veth", "tun", "tap", "macvlan", "macvtap", "sch_netem", "sch_tbf", "dummy"}
	guestPrograms = []string{"ip", "tc", "ss", "nstat", "ethtool", "iperf3"}
)

// inGuest runs this part in a guest.
func (b *bench) inGuest(ctx context.Context) error {
	k, err := vm.Fetch(ctx, guestKernel)
	if err != nil {
		return err
	}
	c := vm.Config{Kernel: k, Modules: guestModules, MemoryMB: 1000, CPUs: 2}
	for _, name := range guestPrograms {
		file, err := exec.LookPath(name)
		if err != nil {
			return err
		}
		c.Programs = append(c.Programs, file)
	}
	g, err := vm.Start(ctx, c)
	if err != nil {
		return err
	}
	defer g.Close()
	fmt.Printf("\nThis kernel has no netem. In a guest, by %s: ", g.Accelerator)
	return g.Run(ctx, vm.Command{
		Path: vm.Program, Args: []string{
			"-in-guest", "-only", "netem", "-rounds", strconv.Itoa(b.rounds), "-seconds",
			strconv.Itoa(b.seconds),
		},
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=/root"}, Dir: "/tmp", Stdout: os.Stdout, Stderr: os.Stderr,
	})
}
