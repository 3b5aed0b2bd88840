package plan

import (
	"fmt"
	"regexp"
	"strings"
)

// Terminal is a device under test, or a group of equal devices.
type Terminal struct {
	Stack
	Count int        `json:"count,omitzero" jsonschema:"Number of terminals in a group. Their names are the name of the group followed by 1 to count."`
	Link  Attachment `json:"link,omitzero" jsonschema:"wlan (default), or ethernet: on the wire, outside the cell."`
	Radio Radio      `json:"radio,omitzero" jsonschema:"The WLAN adapter."`
	Share Sharing    `json:"share,omitzero" jsonschema:"Sharing of the access point with other terminals."`

	Kind   MachineKind `json:"kind,omitzero" jsonschema:"Kind of machine: a namespace of this computer's kernel (default), or vm: a virtual machine with its own kernel."`
	Kernel GuestKernel `json:"kernel,omitzero" jsonschema:"vm: version of Debian's kernel. Default 6.1."`
	Time   Time        `json:"time,omitzero" jsonschema:"vm: the clock."`
}

// Server is a machine behind the path.
type Server struct {
	Stack
}

// Attachment is the type of a terminal's link.
type Attachment string

// The attachments.
const (
	WLAN     Attachment = "wlan"
	Ethernet Attachment = "ethernet"
)

func (*Attachment) Choices() []string { return []string{string(WLAN), string(Ethernet)} }

func (t Terminal) check(c *checker, path string) {
	t.Stack.check(c, path)
	t.Share.check(c, path+".share")
	t.checkGuest(c, path)
	if t.Link == Ethernet {
		if c.has(path + ".radio") {
			c.problem(path+".radio", "a radio for a terminal on Ethernet", "none, or link: wlan")
		}
		if t.Share.KnowsPHY {
			c.problem(path+".share.knows_phy", "a PHY rate of a terminal on Ethernet", "false, or link: wlan")
		}
		if t.Share.KnowsBusy {
			c.problem(path+".share.knows_busy", "a channel of a terminal on Ethernet", "false, or link: wlan")
		}
		return
	}
	t.Radio.check(c, path+".radio")
}

// Stack contains the TCP settings of a machine.
type Stack struct {
	Profile       string            `json:"profile,omitzero" jsonschema:"Profile of a device (experiments/terminals). Values given here override it."`
	Congestion    string            `json:"congestion,omitzero" jsonschema:"Congestion control: one of the kernel's, one of congestion_controls, or one of airtide cc (such as cubic_rtt). Default: the kernel's."`
	ReceiveBuffer Buffer            `json:"receive_buffer,omitzero" jsonschema:"Bounds of TCP receive buffers (net.ipv4.tcp_rmem)."`
	SendBuffer    Buffer            `json:"send_buffer,omitzero" jsonschema:"Bounds of TCP send buffers (net.ipv4.tcp_wmem)."`
	InitialWindow int               `json:"initial_window,omitzero" jsonschema:"Initial congestion window in segments (ip route initcwnd). Default: the kernel's 10."`
	Sysctls       map[string]string `json:"sysctls,omitzero" jsonschema:"Other sysctls of the network namespace. If the name starts with -, as in sysctl.d, a kernel without the sysctl only causes a warning."`
}

// Buffer has the three values of tcp_rmem and tcp_wmem.
type Buffer struct {
	Min     Size `json:"min" jsonschema:"Size that is kept even if memory is short."`
	Default Size `json:"default" jsonschema:"Initial size for a new connection."`
	Max     Size `json:"max" jsonschema:"Largest size to which the kernel grows it."`
}

var (
	congestionName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,14}$`)
	sysctlName     = regexp.MustCompile(`^-?net(\.[a-zA-Z0-9_-]+)+$`)
)

// sysctlFields maps sysctls to the fields that set them.
var sysctlFields = map[string]string{
	"net.ipv4.tcp_rmem":               "receive_buffer",
	"net.ipv4.tcp_wmem":               "send_buffer",
	"net.ipv4.tcp_congestion_control": "congestion",
}

// OptionalSysctl returns the name of a sysctl without a leading "-". As in sysctl.d(5), this mark
// permits a kernel without the sysctl.
func OptionalSysctl(name string) (plain string, optional bool) { return strings.CutPrefix(name, "-") }

func (s Stack) check(c *checker, path string) {
	c.congestion(path+".congestion", s.Congestion)
	for name, b := range map[string]Buffer{"receive_buffer": s.ReceiveBuffer, "send_buffer": s.SendBuffer} {
		if b != (Buffer{}) && (b.Min <= 0 || b.Min > b.Default || b.Default > b.Max || b.Max > 1<<31-1) {
			c.problem(path+"."+name, fmt.Sprintf("%d, %d, %d B", b.Min, b.Default, b.Max),
				"min, default and max, none less than the one before it, of at most 2 GiB")
		}
	}
	if s.InitialWindow < 0 || s.InitialWindow > 1000 {
		c.problem(path+".initial_window", c.found(path+".initial_window"), "1 to 1000 segments")
	}
	for name, value := range s.Sysctls {
		// These names contain dots, so they have no path of their own.
		plain, optional := OptionalSysctl(name)
		_, both := s.Sysctls[plain]
		switch field := sysctlFields[plain]; {
		case !sysctlName.MatchString(name):
			c.problem(path+".sysctls", fmt.Sprintf("the sysctl %q", name),
				"one of a network namespace, such as net.ipv4.tcp_sack")
		case field != "":
			c.problem(path+".sysctls", name, "the field "+field+", which stands for it")
		case optional && both:
			c.problem(path+".sysctls", name+" besides "+plain, "one of them")
		case strings.ContainsAny(value, "\n\x00") || value == "":
			c.problem(path+".sysctls", fmt.Sprintf("%s = %q", name, value), "a value in one line")
		}
	}
}
