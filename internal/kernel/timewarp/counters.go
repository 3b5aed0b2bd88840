package timewarp

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Kind is a kernel counter of TCP errors.
type Kind struct {
	Name  string // name in /proc/net/snmp (Tcp) or /proc/net/netstat (TcpExt)
	About string
}

// Kinds are the counters that show the effect of accelerated time on TCP.
var Kinds = []Kind{
	{"RetransSegs", "segments sent again"},
	{"TCPTimeouts", "retransmission timeouts"},
	{"TCPSpuriousRTOs", "timeouts found spurious by F-RTO"},
	{"TCPLossUndo", "timeouts undone: found spurious by timestamps or DSACK"},
	{"TCPFullUndo", "fast recoveries undone as a whole"},
	{"TCPPartialUndo", "fast recoveries undone in part"},
	{"TCPDSACKUndo", "recoveries undone by DSACK"},
	{"TCPDSACKRecv", "segments that the peer had already (DSACK)"},
	{"TCPLossProbes", "tail loss probes"},
	{"TCPLossProbeRecovery", "losses that a tail loss probe repaired"},
	{"TCPFastRetrans", "segments sent again in fast recovery"},
	{"TCPSlowStartRetrans", "segments sent again after a timeout"},
	{"TCPLostRetransmit", "retransmissions lost in turn"},
	{"TCPRetransFail", "segments that could not be sent again"},
	{"TCPSackRecovery", "fast recoveries by SACK"},
	{"TCPRenoRecovery", "fast recoveries without SACK"},
	{"TCPSynRetrans", "SYN and SYN-ACK segments sent again"},
	{"TCPAbortOnTimeout", "connections given up after timeouts"},
}

// Errors maps counter names to values. Counters that the kernel lacks are absent.
type Errors map[string]uint64

// ReadErrors reads the counters of Kinds in the network namespace of this process.
func (k *Kernel) ReadErrors() (Errors, error) {
	return ErrorsFrom(func(name string) ([]byte, error) { return os.ReadFile(filepath.Join(k.proc, name)) })
}

// ErrorsFrom reads the counters of another kernel or namespace. read returns a file of its /proc,
// such as net/snmp.
func ErrorsFrom(read func(name string) ([]byte, error)) (Errors, error) {
	all := map[string]uint64{}
	for _, file := range []struct{ name, protocol string }{{"net/snmp", "Tcp"}, {"net/netstat", "TcpExt"}} {
		text, err := read(file.name)
		if err != nil {
			return nil, fmt.Errorf("reading TCP's counters: %w", err)
		}
		if err := parseCounters(string(text), file.protocol, all); err != nil {
			return nil, fmt.Errorf("%s: %w", file.name, err)
		}
	}
	e := Errors{}
	for _, kind := range Kinds {
		if n, ok := all[kind.Name]; ok {
			e[kind.Name] = n
		}
	}
	return e, nil
}

// parseCounters reads one protocol's two lines, of names and of values, each headed by its name.
func parseCounters(text, protocol string, into map[string]uint64) error {
	var names []string
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(line, protocol+":")
		if !ok {
			continue
		}
		if names == nil {
			names = strings.Fields(rest)
			continue
		}
		values := strings.Fields(rest)
		if len(values) != len(names) {
			return fmt.Errorf("%d names and %d values of %s", len(names), len(values), protocol)
		}
		for i, value := range values {
			// MaxConn is -1 and not a counter of Kinds, so values that do not parse are skipped.
			if n, err := strconv.ParseUint(value, 10, 64); err == nil {
				into[names[i]] = n
			}
		}
		return nil
	}
	return fmt.Errorf("no counters of %s", protocol)
}

// Since returns the growth since earlier counters.
func (e Errors) Since(earlier Errors) Errors {
	d := Errors{}
	for name, n := range e {
		d[name] = n - earlier[name]
	}
	return d
}
