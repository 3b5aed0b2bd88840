package bpf

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"

	"airtide/internal/kernel/sockets/owner"
)

// With is a set of parts that are observed on demand. The programs of other parts are not loaded.
type With uint32

// The parts.
const (
	WithDrops      = With(monitorMonWithPartsWITH_DROPS)       // packets that this host drops
	WithHandshake  = With(monitorMonWithPartsWITH_HANDSHAKE)   // times of handshakes, SYN-ACKs sent again
	WithTimestamps = With(monitorMonWithPartsWITH_TIMESTAMPS)  // TSval and TSecr of each segment
	WithWaits      = With(monitorMonWithPartsWITH_WAITS)       // waits for the send buffer and the device
	WithUDP        = With(monitorMonWithPartsWITH_UDP)         // bytes of UDP port 443, and of all
	WithHalfClosed = With(monitorMonWithPartsWITH_HALF_CLOSED) // samples of half-closed connections
	WithMerges     = With(monitorMonWithPartsWITH_MERGES)      // segments that an arriving one stands for
)

// WithAll is the name of all parts.
const WithAll = "all"

// Part describes a part.
type Part struct {
	Part With
	Name string
	Doc  string
	// Tracepoints are those that it needs. Without the last one the rest still works.
	Tracepoints []Tracepoint
}

// Parts lists the parts.
func Parts() []Part {
	return []Part{
		{WithDrops, "drops", "packets that this host drops, with reason and device", []Tracepoint{
			{"kfree_skb", "4.15", "drops of this host cannot be told from losses beyond it"},
		}},
		{WithHandshake, "handshake", "times of handshakes, and SYN-ACKs that were sent again", []Tracepoint{
			{
				"tcp_retransmit_synack", "4.15",
				"the time of a handshake is unknown at the accepting end if its SYN-ACK was sent again",
			},
		}},
		{WithTimestamps, "timestamps", "TSval and TSecr of each arriving segment", nil},
		{WithWaits, "waits", "waits for room in the send buffer and for the device", []Tracepoint{
			{"net_dev_start_xmit", "4.15", "the wait of packets for the device is unknown"},
		}},
		{WithUDP, "udp", "bytes of UDP port 443 beside all bytes of this host", nil},
		{WithHalfClosed, "half-closed", "samples of half-closed connections at reads and writes", []Tracepoint{
			{ownerTracepoint, "4.18", "reads of half-closed connections make no samples"},
			{"tcp_sendmsg_locked", "6.16", "writes to half-closed connections make no samples"},
		}},
		{WithMerges, "merges", "segments that were joined into each arriving one", nil},
	}
}

// ParseWith reads names of parts.
func ParseWith(names []string) (With, error) {
	var w With
	for _, name := range names {
		known := false
		for _, p := range Parts() {
			if name == p.Name || name == WithAll {
				w |= p.Part
				known = true
			}
		}
		if !known {
			return 0, UnknownPart(name, WithNames())
		}
	}
	return w, nil
}

// UnknownPart is the error of a name that is none of the known ones.
func UnknownPart(name string, known []string) error {
	return fmt.Errorf("--with %q: want some of %s", name, strings.Join(known, ", "))
}

// WithNames are the names that ParseWith accepts.
func WithNames() []string {
	var names []string
	for _, p := range Parts() {
		names = append(names, p.Name)
	}
	return append(names, WithAll)
}

// Names are the names of the parts of the set.
func (w With) Names() []string {
	var names []string
	for _, p := range Parts() {
		if w.has(p.Part) {
			names = append(names, p.Name)
		}
	}
	return names
}

func (w With) has(part With) bool { return w&part != 0 }

// moreWords is the number of words that a sample has behind the private state.
func (w With) moreWords() int {
	if w.has(WithTimestamps | WithWaits | WithMerges) {
		return moreWords
	}
	return 0
}

// moreWords is MORE_WORDS of bpf/monitor/record.h.
const moreWords = 2

// morePrefix begins the names of the programs of parts; the tracepoint follows.
const morePrefix = "more_"

// cgroupPrograms count bytes at the root of the cgroups.
var cgroupPrograms = map[string]ebpf.AttachType{
	"more_received": ebpf.AttachCGroupInetIngress,
	"more_sent":     ebpf.AttachCGroupInetEgress,
}

// chooseMore returns the tracepoints of the wanted parts that the kernel has, and notes the others.
func (l *loaded) chooseMore(o Options) (tracepoints []string) {
	for _, p := range Parts() {
		if !o.With.has(p.Part) {
			continue
		}
		for _, t := range p.Tracepoints {
			if o.argsOf(l.types, t.Name) < 0 {
				l.missing = append(l.missing, fmt.Sprintf("%s: %s (kernel %s has it)", t.Name, t.Without, t.Since))
				continue
			}
			tracepoints = append(tracepoints, t.Name)
		}
	}
	return tracepoints
}

// wantsMore reports whether a program belongs to the wanted parts.
func wantsMore(program string, tracepoints []string, w With) bool {
	if _, ok := cgroupPrograms[program]; ok {
		return w.has(WithUDP)
	}
	name, ok := strings.CutPrefix(program, morePrefix)
	return ok && slices.Contains(tracepoints, name)
}

// attachMore attaches the programs of the wanted parts.
func (l *loaded) attachMore(tracepoints []string, w With) error {
	for _, name := range tracepoints {
		k, err := link.AttachRawTracepoint(link.RawTracepointOptions{
			Name: name, Program: l.coll.Programs[morePrefix+name],
		})
		if err != nil {
			return fmt.Errorf("attaching to %s: %w", name, err)
		}
		l.links = append(l.links, k)
	}
	if !w.has(WithUDP) {
		return nil
	}
	root, err := owner.CgroupMount()
	if err != nil {
		l.missing = append(l.missing, "bytes of UDP port 443: "+err.Error())
		return nil
	}
	for name, kind := range cgroupPrograms {
		k, err := link.AttachCgroup(link.CgroupOptions{Path: root, Attach: kind, Program: l.coll.Programs[name]})
		if err != nil {
			l.missing = append(l.missing, fmt.Sprintf("bytes of UDP port 443: attaching to %s: %v", root, err))
			return nil
		}
		l.links = append(l.links, k)
	}
	return nil
}

// dropReasons are the kernel's names of the reasons of drops: SKB_DROP_REASON_QDISC_DROP is
// qdisc_drop. Kernels before 5.17 have none.
func dropReasons(types *btf.Spec) map[uint32]string {
	names := map[uint32]string{}
	var reasons *btf.Enum
	if types.TypeByName("skb_drop_reason", &reasons) != nil {
		return names
	}
	for _, v := range reasons.Values {
		names[uint32(v.Value)] = strings.ToLower(strings.TrimPrefix(v.Name, "SKB_DROP_REASON_"))
	}
	return names
}

// TellsOfDropReasons reports whether kfree_skb has a reason: Linux 5.17 or newer.
func TellsOfDropReasons(types *btf.Spec) bool { return tracepointArgs(types, "kfree_skb") > 2 }
