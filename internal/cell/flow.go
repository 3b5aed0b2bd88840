package cell

import (
	"encoding/binary"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"airtide/internal/cell/queue"
)

// flowTable maps a packet to its flow and counts it.
type flowTable struct {
	counts []FlowStatus
	// ports holds the index of each port's flow plus one; 0 means no flow.
	ports []uint16
	echo  []echoFlow
}

// echoFlow is an ICMP echo flow. Without addresses it matches any hosts.
type echoFlow struct {
	index    int
	from, to []netip.Addr
}

func newFlowTable(c *Config) flowTable {
	f := flowTable{counts: make([]FlowStatus, len(c.Flows)), ports: make([]uint16, 1<<16)}
	for i, flow := range c.Flows {
		f.counts[i].Name = flow.Name
		if flow.Port == 0 {
			f.echo = append(f.echo, echoFlow{i, c.addresses(flow.From), c.addresses(flow.To)})
			continue
		}
		f.ports[flow.Port] = uint16(i + 1)
	}
	return f
}

// addresses returns the addresses of a host, or nil for an empty name.
func (c *Config) addresses(name string) (all []netip.Addr) {
	for _, p := range c.enginePorts() {
		if p.Name != name {
			continue
		}
		for _, a := range p.Addresses {
			all = append(all, a.Addr())
		}
	}
	return all
}

// count counts a packet that has arrived with its flow.
func (f *flowTable) count(p *queue.Packet) {
	if len(f.counts) == 0 {
		return
	}
	s, ok := read(p.Data)
	if !ok {
		return
	}
	switch s.protocol {
	case unix.IPPROTO_TCP, unix.IPPROTO_UDP:
		if i := f.ports[binary.BigEndian.Uint16(s.transport[2:])]; i > 0 {
			f.counts[i-1].Forward.add(&s)
		} else if i := f.ports[binary.BigEndian.Uint16(s.transport)]; i > 0 {
			f.counts[i-1].Reverse.add(&s)
		}
	case unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6:
		f.countEcho(p.Data, &s)
	}
}

// Types of ICMP and ICMPv6 messages (RFC 792, RFC 4443 section 4).
const (
	echoReply    = 0
	echoRequest  = 8
	echoRequest6 = 128
	echoReply6   = 129
)

func (f *flowTable) countEcho(ip []byte, s *segment) {
	request := byte(echoRequest)
	reply := byte(echoReply)
	if s.protocol == unix.IPPROTO_ICMPV6 {
		request = echoRequest6
		reply = echoReply6
	}
	from, to := ends(ip)
	switch kind := s.transport[0]; kind {
	case request:
	case reply:
		from, to = to, from
	default:
		return
	}
	for i := range f.echo {
		e := &f.echo[i]
		if e.from != nil && !slices.Contains(e.from, from) || e.to != nil && !slices.Contains(e.to, to) {
			continue
		}
		if s.transport[0] == request {
			f.counts[e.index].Forward.add(s)
		} else {
			f.counts[e.index].Reverse.add(s)
		}
	}
}

// ends are the addresses of a packet.
func ends(ip []byte) (from, to netip.Addr) {
	if ip[0]>>4 == 6 {
		return netip.AddrFrom16([16]byte(ip[8:24])), netip.AddrFrom16([16]byte(ip[24:40]))
	}
	return netip.AddrFrom4([4]byte(ip[12:16])), netip.AddrFrom4([4]byte(ip[16:20]))
}

func (d *Delivered) add(s *segment) {
	d.Packets++
	d.PayloadBytes += int64(s.payload)
}
