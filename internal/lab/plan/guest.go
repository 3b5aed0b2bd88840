package plan

import (
	"errors"
	"fmt"
	"slices"

	congestion "airtide/internal/kernel/congestion/kind"
	"airtide/internal/kernel/timewarp"
	"airtide/internal/vm"
)

// MachineKind selects a namespace or a virtual machine for a terminal.
type MachineKind string

// The kinds.
const (
	Namespace      MachineKind = "namespace"
	VirtualMachine MachineKind = "vm"
)

func (*MachineKind) Choices() []string { return []string{string(Namespace), string(VirtualMachine)} }

// GuestKernel is the kernel of a virtual machine, one of the versions in package vm.
type GuestKernel string

func (*GuestKernel) Choices() []string { return vm.Versions() }

// defaultKernel is the kernel of Debian 12.
const defaultKernel = GuestKernel("6.1")

// Time sets the clock of a virtual machine and the reaction of its TCP.
type Time struct {
	Ratio ClockRatio `json:"ratio,omitzero" jsonschema:"Speed of the clock relative to real time, 1/10 to 1000. Default: the kernel's own clock, without the module."`
	RTO   RTO        `json:"rto,omitzero" jsonschema:"How the retransmission timeout follows the clock: bounds (default: its minimum and initial value), paper (every value, as in Onozato et al. 2019) or none."`
	CUBIC CUBICTime  `json:"cubic,omitzero" jsonschema:"Time by which CUBIC grows: clock (default), or real (needs Linux 6.4)."`
}

// ClockRatio is a ratio of clocks in the spelling of the file: 10, 2.5 or 5/2.
type ClockRatio string

const expectedRatio = "how many times as fast as real time, 1/10 to 1000, such as 10 or 5/2"

// UnmarshalText reads a ratio and keeps its spelling.
func (r *ClockRatio) UnmarshalText(text []byte) error {
	if _, err := timewarp.ParseRatio(string(text)); err != nil {
		return errors.New(expectedRatio)
	}
	*r = ClockRatio(text)
	return nil
}

// Value returns the ratio as a number; 1 if it is missing.
func (r ClockRatio) Value() float64 {
	if r == "" {
		return 1
	}
	ratio, err := timewarp.ParseRatio(string(r))
	if err != nil {
		return 0
	}
	return ratio.Float()
}

// RTO selects how TCP's retransmission timeout follows the clock, with the values of airtide
// timewarp set --rto.
type RTO string

func (*RTO) Choices() []string { return []string{"bounds", "paper", "none"} }

// CUBICTime selects the clock by which CUBIC's window grows.
type CUBICTime string

// The clocks of CUBIC.
const (
	ClockTime CUBICTime = "clock"
	RealTime  CUBICTime = "real"
)

func (*CUBICTime) Choices() []string { return []string{string(ClockTime), string(RealTime)} }

// GuestSetup is the virtual machine of a terminal.
type GuestSetup struct {
	Kernel GuestKernel `json:"kernel"`
	Time   Time        `json:"time,omitzero"`
}

// guest returns the virtual machine of a terminal; nil for a namespace.
func (t *Terminal) guest() *GuestSetup {
	if t.Kind != VirtualMachine {
		return nil
	}
	g := &GuestSetup{Kernel: t.Kernel, Time: t.Time}
	orDefault(&g.Kernel, defaultKernel)
	if g.Time.Ratio != "" {
		orDefault(&g.Time.RTO, "bounds")
		orDefault(&g.Time.CUBIC, ClockTime)
	}
	return g
}

// checkGuest checks the fields that only virtual machines have, and those that they lack.
func (t Terminal) checkGuest(c *checker, path string) {
	if t.Kind != VirtualMachine {
		for field, given := range map[string]bool{"kernel": t.Kernel != "", "time": t.Time != Time{}} {
			if given {
				c.problem(path+"."+field, "a "+field+" for a terminal in a namespace", "none, or kind: vm")
			}
		}
		return
	}
	if t.Time.Ratio == "" && (t.Time.RTO != "" || t.Time.CUBIC != "") {
		c.problem(path+".time", "a time without a ratio", "ratio, such as 10")
	}
	if t.Share.Agent() {
		c.problem(path+".share", "an agent on a virtual machine", "none, or kind: namespace")
	}
	if c.ofAirtide(t.Congestion) {
		c.problem(path+".congestion", t.Congestion+" on a virtual machine",
			"one of its kernel's own, such as cubic or reno")
	}
}

// ofAirtide reports whether the lab loads this congestion control.
func (c *checker) ofAirtide(name string) bool {
	_, own := c.e.CongestionControls.Get(name)
	return own || slices.Contains(congestion.All(), congestion.Kind(name))
}

// checkGuests checks the restrictions on flows of virtual machines.
func (f Flow) checkGuests(c *checker, path string) {
	guests := map[string]bool{}
	for _, t := range c.e.Terminals {
		for _, name := range c.machines.groups[t.Name] {
			guests[name] = t.Value.Kind == VirtualMachine
		}
	}
	for _, name := range c.machines.machines(f.To) {
		if guests[name] {
			c.problem(path+".to", fmt.Sprintf("a flow to the virtual machine %s", name),
				"one from it, with direction: reverse or http_get for what it receives")
		}
	}
	for _, name := range c.machines.machines(f.From) {
		if guests[name] && f.Direction == Both {
			c.problem(path+".direction", fmt.Sprintf("both directions at once on the virtual machine %s", name),
				"two flows, whose kernels are recorded apart")
		}
		if guests[name] && f.Congestion != "" {
			c.problem(path+".congestion",
				fmt.Sprintf("a flow's own congestion control on the virtual machine %s", name),
				"congestion of the terminal")
		}
	}
}
