//go:build tools

package conn_test

import (
	"cmp"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"

	"airtide/internal/packets/decode"
	"airtide/test/capture"
)

// made is a made-up connection: packets in the order of their times, as a capture may show them.
// Its ends follow no rule of TCP, but each of their steps occurs in real connections.
type made struct {
	r       *rand.Rand
	at      int64 // ns
	tick    int64 // resolution of the packets' times, ns
	ends    [2]madeEnd
	packets []madePacket
	rttNs   int64
}

type madeEnd struct {
	addr    netip.AddrPort
	first   uint32 // sequence number of the SYN
	next    uint32 // sequence number of the next byte
	ack     uint32 // next byte that it expects
	window  uint16
	options []byte // options of the SYN
	shift   uint   // scale of its windows, once both SYNs agree
	sent    []madeRange
}

type madeRange struct{ seq, end uint32 }

type madePacket struct {
	atNs int64
	capture.TCP
}

const dataBytes = 1000

// madeConnection makes connection number n of a seed.
func madeConnection(seed uint64, n int) []madePacket {
	r := rand.New(rand.NewPCG(seed, uint64(n)))
	m := &made{r: r, at: start + int64(n)*50*ms, tick: 1000}
	if r.IntN(4) == 0 {
		m.tick = ms
	}
	m.rttNs = [...]int64{200_000, 5 * ms, 40 * ms, 150 * ms}[r.IntN(4)]
	client := netip.MustParseAddr("192.0.2.1")
	server := netip.MustParseAddr("192.0.2.2")
	if r.IntN(4) == 0 {
		client = netip.MustParseAddr("2001:db8::2")
		server = netip.MustParseAddr("2001:db8::1")
	}
	m.ends[0].addr = netip.AddrPortFrom(client, uint16(10_000+n%50_000))
	m.ends[1].addr = netip.AddrPortFrom(server, 5201)
	for i := range m.ends {
		e := &m.ends[i]
		e.first = r.Uint32()
		if r.IntN(3) == 0 {
			e.first = -uint32(r.IntN(20_000)) // the numbers wrap soon
		}
		e.next = e.first
		e.window = uint16(1 + r.IntN(20)*dataBytes/2)
		e.options = m.offer()
	}
	m.handshake()
	for range r.IntN(25) {
		m.episode()
	}
	m.end()
	return m.captured()
}

// offer is the options of a SYN.
func (m *made) offer() (options []byte) {
	if m.r.IntN(8) > 0 {
		options = append(options, 2, 4, byte(1+m.r.IntN(20)), byte(m.r.Uint32()))
	}
	if m.r.IntN(2) > 0 {
		options = append(options, 3, 3, byte(m.r.IntN(15)))
	}
	if m.r.IntN(3) > 0 {
		options = append(options, 4, 2)
	}
	if m.r.IntN(3) > 0 {
		options = append(options, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0)
	}
	return options
}

func scaleOf(options []byte) (shift uint, has bool) {
	for i := 0; i+2 < len(options); i += int(options[i+1]) {
		if options[i] == 3 {
			return uint(options[i+2]), true
		}
	}
	return 0, false
}

// wait lets time pass.
func (m *made) wait() {
	m.at += [...]int64{0, 10_000, 100_000, ms, 2 * ms, m.rttNs / 2, m.rttNs, m.rttNs, 25 * ms, 300 * ms}[m.r.IntN(10)]
}

func (m *made) put(from int, flags uint8, seq, ack uint32, bytes int, options ...byte) {
	e := &m.ends[from]
	if flags&decode.ACK == 0 {
		ack = 0
	}
	m.packets = append(m.packets, madePacket{m.at / m.tick * m.tick, capture.TCP{
		From: e.addr, To: m.ends[1-from].addr, Seq: seq, Ack: ack, Flags: flags, Window: e.window, Payload: bytes,
		Options: options,
	}})
}

func (m *made) handshake() {
	client := &m.ends[0]
	server := &m.ends[1]
	a, offered := scaleOf(client.options)
	b, answered := scaleOf(server.options)
	if offered && answered {
		client.shift = a
		server.shift = b
	}
	times := 1 + max(0, m.r.IntN(6)-3)
	for i := range times {
		m.put(0, decode.SYN, client.first, 0, 0, client.options...)
		if i+1 < times {
			m.at += 1000 * ms << i
		}
	}
	m.at += m.rttNs
	client.next++
	server.ack = client.next
	for range 1 + max(0, m.r.IntN(6)-4) {
		m.put(1, decode.SYN|decode.ACK, server.first, server.ack, 0, server.options...)
		m.at += 10_000
	}
	server.next++
	client.ack = server.next
	m.put(0, decode.ACK, client.next, client.ack, 0)
	m.wait()
}

// edge is the number of the last byte that the other end allows, as the last window has it.
func (m *made) edge(from int) uint32 {
	other := &m.ends[1-from]
	return other.ack + uint32(other.window)<<other.shift
}

// data sends new bytes. A part of them is lost before the capture.
func (m *made) data(from, bytes int, lost bool) {
	e := &m.ends[from]
	if bytes <= 0 {
		return
	}
	if !lost {
		m.put(from, decode.ACK|decode.PSH, e.next, e.ack, bytes)
	}
	e.sent = append(e.sent, madeRange{e.next, e.next + uint32(bytes)})
	e.next += uint32(bytes)
}

// burst sends some segments of new data, of which some are lost on the way.
func (m *made) burst(from int) {
	for range 1 + m.r.IntN(5) {
		m.data(from, 1+m.r.IntN(dataBytes), m.r.IntN(8) == 0)
		if m.r.IntN(3) == 0 {
			m.wait()
		}
	}
}

// acknowledge sends an ACK of the received bytes, or of a part of them.
func (m *made) acknowledge(from int) {
	e := &m.ends[from]
	other := &m.ends[1-from]
	switch sent := other.sent; {
	case len(sent) > 0 && m.r.IntN(3) == 0:
		e.ack = sent[m.r.IntN(len(sent))].end
	default:
		e.ack = other.next
	}
	m.put(from, decode.ACK, e.next, e.ack, 0)
}

// duplicates sends the last ACK again, with or without SACK.
func (m *made) duplicates(from int) {
	e := &m.ends[from]
	for range 1 + m.r.IntN(4) {
		var options []byte
		if m.r.IntN(2) == 0 {
			options = append([]byte{1, 1, 5, 10}, binary.BigEndian.AppendUint32(nil, e.ack+100)...)
			options = binary.BigEndian.AppendUint32(options, e.ack+200)
		}
		m.put(from, decode.ACK, e.next, e.ack, 0, options...)
		m.at += int64(m.r.IntN(3)) * 100_000
	}
}

// again sends a segment again: the one that the last ACK asks for, or any.
func (m *made) again(from int) {
	e := &m.ends[from]
	other := &m.ends[1-from]
	if len(e.sent) == 0 {
		return
	}
	one := e.sent[m.r.IntN(len(e.sent))]
	for _, s := range e.sent {
		if s.seq == other.ack && m.r.IntN(2) == 0 {
			one = s
		}
	}
	bytes := int(one.end - one.seq)
	if m.r.IntN(5) == 0 {
		bytes = 1 + m.r.IntN(bytes)
	}
	m.put(from, decode.ACK, one.seq, e.ack, bytes)
}

// closeWindow closes the window of an end, lets the other one probe it, and opens it.
func (m *made) closeWindow(from int) {
	e := &m.ends[from]
	other := &m.ends[1-from]
	open := e.window
	e.ack = other.next
	e.window = 0
	m.put(from, decode.ACK, e.next, e.ack, 0)
	for range m.r.IntN(4) {
		m.at += 250 * ms
		if m.r.IntN(3) == 0 {
			m.put(1-from, decode.ACK, other.next-1, other.ack, 0)
		} else {
			m.put(1-from, decode.ACK, other.next, other.ack, 1)
		}
		m.at += m.rttNs
		if m.r.IntN(5) > 0 {
			m.put(from, decode.ACK, e.next, e.ack, 0)
		}
	}
	e.window = open
	m.put(from, decode.ACK, e.next, e.ack, 0)
	m.wait()
}

// keepAlive sends one or two probes to the other end.
func (m *made) keepAlive(from int) {
	e := &m.ends[from]
	other := &m.ends[1-from]
	m.at += 2000 * ms
	for range 1 + m.r.IntN(2) {
		m.put(from, decode.ACK, e.next-1, e.ack, m.r.IntN(2))
		m.at += m.rttNs
		if m.r.IntN(4) > 0 {
			m.put(1-from, decode.ACK, other.next, other.ack, 0)
		}
	}
}

func (m *made) episode() {
	from := m.r.IntN(2)
	switch m.r.IntN(12) {
	case 0, 1, 2:
		m.burst(from)
	case 3, 4:
		m.acknowledge(from)
	case 5:
		m.duplicates(from)
	case 6: // a loss and its repair
		m.burst(from)
		m.wait()
		m.duplicates(1 - from)
		m.at += int64(m.r.IntN(40)) * ms
		m.again(from)
	case 7:
		m.again(from)
	case 8: // up to the edge of the window
		m.data(from, min(50_000, int(int32(m.edge(from)-m.ends[from].next))), false)
	case 9:
		m.closeWindow(from)
	case 10:
		m.keepAlive(from)
	case 11: // a window update
		m.ends[from].window = uint16(1 + m.r.IntN(20)*dataBytes/2)
		m.put(from, decode.ACK, m.ends[from].next, m.ends[from].ack, 0)
	}
	m.wait()
}

// end closes the connection in some way, or not.
func (m *made) end() {
	from := m.r.IntN(2)
	e := &m.ends[from]
	other := &m.ends[1-from]
	switch m.r.IntN(6) {
	case 0:
		return
	case 1:
		m.put(from, decode.RST|decode.ACK, e.next, e.ack, 0)
		return
	case 2:
		m.put(from, decode.RST, e.next, 0, 0)
		return
	}
	for range 1 + max(0, m.r.IntN(5)-3) {
		m.put(from, decode.FIN|decode.ACK, e.next, e.ack, 0)
		m.wait()
	}
	e.next++
	other.ack = e.next
	if m.r.IntN(2) == 0 {
		m.put(1-from, decode.ACK, other.next, other.ack, 0)
	}
	for range 1 + max(0, m.r.IntN(5)-3) {
		m.put(1-from, decode.FIN|decode.ACK, other.next, other.ack, 0)
		m.wait()
	}
	other.next++
	e.ack = other.next
	m.put(from, decode.ACK, e.next, e.ack, 0)
}

// captured loses some packets, puts some later, and gives all times in order.
func (m *made) captured() (all []madePacket) {
	lossy := m.r.IntN(3) == 0
	for _, p := range m.packets {
		if lossy && m.r.IntN(30) == 0 {
			continue
		}
		if m.r.IntN(40) == 0 {
			p.atNs += [...]int64{50_000, ms, 4 * ms, m.rttNs}[m.r.IntN(4)] / m.tick * m.tick
		}
		all = append(all, p)
	}
	slices.SortStableFunc(all, func(a, b madePacket) int { return cmp.Compare(a.atNs, b.atNs) })
	return all
}
