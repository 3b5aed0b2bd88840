package tcp

import (
	"fmt"
	"strings"
)

// State is a TCP connection state with the numbers of the kernel (include/net/tcp_states.h).
type State uint8

// The connection states of RFC 9293, plus the kernel's NewSynRecv.
const (
	StateUnknown State = iota
	StateEstablished
	StateSynSent
	StateSynRecv
	StateFinWait1
	StateFinWait2
	StateTimeWait
	StateClose
	StateCloseWait
	StateLastAck
	StateListen
	StateClosing
	StateNewSynRecv
)

var stateNames = []string{
	"unknown", "established", "syn_sent", "syn_recv", "fin_wait1", "fin_wait2", "time_wait", "close",
	"close_wait", "last_ack", "listen", "closing", "new_syn_recv",
}

func (s State) String() string { return nameOf(stateNames, int(s), "state") }

// MarshalText lets a State stand in JSON by name.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// CAState is the sender's congestion state machine with the numbers of the kernel
// (include/uapi/linux/tcp.h, enum tcp_ca_state). From 1 on the numbers are also the error codes of
// Matsuno et al. 2021, table 2.
type CAState uint8

// The congestion states.
const (
	CAOpen CAState = iota
	CADisorder
	CACWR
	CARecovery
	CALoss
)

var caStateNames = []string{"open", "disorder", "cwr", "recovery", "loss"}

func (s CAState) String() string { return nameOf(caStateNames, int(s), "ca_state") }

// MarshalText lets a CAState stand in JSON by name.
func (s CAState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Word is a name in output with its meaning.
type Word struct {
	Name string
	Doc  string
}

func names(table []Word) []string {
	list := make([]string, len(table))
	for i, w := range table {
		list[i] = w.Name
	}
	return list
}

func nameOf(names []string, i int, kind string) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s_%d", kind, i)
}

func numberOf(names []string, kind, name string) (int, error) {
	for i, n := range names {
		if n == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("unknown %s %q: want one of %s", kind, name, strings.Join(names, ", "))
}
