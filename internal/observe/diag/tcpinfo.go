package diag

import (
	"encoding/binary"
	"math"

	"airtide/internal/tcp"
)

// infoField is one field of the kernel's struct tcp_info (include/uapi/linux/tcp.h) that is
// sampled. The struct only ever grew at its end, so a kernel has a field exactly when its struct
// reaches that far.
type infoField struct {
	name   string
	offset int
	size   int // bytes
	field  tcp.Field
	scale  int64  // factor from the kernel's unit to the field's
	unset  unset  // values that mean "not measured" or "no limit"
	since  string // first kernel version
}

// unset selects the kernel's values that mean "none".
type unset uint8

const (
	never    unset = iota
	zero           // 0: nothing measured yet
	infinite       // 0x7fffffff and above: TCP_INFINITE_SSTHRESH
	allOnes        // ~0: unlimited, or nothing measured yet
	zeroOrOnes
)

// infoFields are in the order of the struct.
var infoFields = []infoField{
	{"tcpi_state", 0, 1, tcp.StateField, 1, never, "2.6"},
	{"tcpi_ca_state", 1, 1, tcp.CAStateField, 1, never, "2.6"},
	{"tcpi_backoff", 4, 1, tcp.Backoff, 1, never, "2.6"},
	{"tcpi_rto", 8, 4, tcp.RTOUs, 1, zero, "2.6"},
	{"tcpi_snd_mss", 16, 4, tcp.MSSBytes, 1, never, "2.6"},
	{"tcpi_sacked", 28, 4, tcp.SackedOutPackets, 1, never, "2.6"},
	{"tcpi_lost", 32, 4, tcp.LostOutPackets, 1, never, "2.6"},
	{"tcpi_retrans", 36, 4, tcp.RetransOutPackets, 1, never, "2.6"},
	{"tcpi_rtt", 68, 4, tcp.SrttUs, 1, zero, "2.6"},
	{"tcpi_rttvar", 72, 4, tcp.RttvarUs, 1, never, "2.6"},
	{"tcpi_snd_ssthresh", 76, 4, tcp.SsthreshPackets, 1, infinite, "2.6"},
	{"tcpi_snd_cwnd", 80, 4, tcp.CwndPackets, 1, never, "2.6"},
	{"tcpi_reordering", 88, 4, tcp.ReorderingPackets, 1, never, "2.6"},
	{"tcpi_rcv_rtt", 92, 4, tcp.ReceiverRttUs, 1, zero, "2.6"},
	{"tcpi_total_retrans", 100, 4, tcp.RetransmitsPackets, 1, never, "2.6"},
	{"tcpi_pacing_rate", 104, 8, tcp.PacingRateBps, 8, zeroOrOnes, "3.15"},
	{"tcpi_bytes_acked", 120, 8, tcp.AckedBytes, 1, never, "4.1"},
	{"tcpi_bytes_received", 128, 8, tcp.ReceivedBytes, 1, never, "4.1"},
	{"tcpi_min_rtt", 148, 4, tcp.MinRttUs, 1, zeroOrOnes, "4.6"},
	{"tcpi_delivery_rate", 160, 8, tcp.DeliveryRateBps, 8, zero, "4.9"},
	{"tcpi_busy_time", 168, 8, tcp.BusyUs, 1, never, "4.10"},
	{"tcpi_rwnd_limited", 176, 8, tcp.RwndLimitedUs, 1, never, "4.10"},
	{"tcpi_sndbuf_limited", 184, 8, tcp.SndbufLimitedUs, 1, never, "4.10"},
	{"tcpi_delivered", 192, 4, tcp.DeliveredPackets, 1, never, "4.18"},
	{"tcpi_delivered_ce", 196, 4, tcp.DeliveredCEPackets, 1, never, "4.18"},
	{"tcpi_bytes_retrans", 208, 8, tcp.RetransmittedBytes, 1, never, "4.19"},
	{"tcpi_dsack_dups", 216, 4, tcp.DSackDups, 1, never, "4.19"},
	{"tcpi_reord_seen", 220, 4, tcp.ReorderingSeen, 1, never, "4.19"},
	{"tcpi_rcv_ooopack", 224, 4, tcp.OutOfOrderPackets, 1, never, "5.4"},
	{"tcpi_snd_wnd", 228, 4, tcp.SendWindowBytes, 1, never, "5.4"},
	{"tcpi_rcv_wnd", 232, 4, tcp.ReceiveWindowBytes, 1, never, "6.2"},
}

// Fields of struct tcp_info that are not sampled as they are.
const (
	offOptions      = 5   // tcpi_options
	offWindowScale  = 6   // tcpi_snd_wscale, and in the upper half tcpi_rcv_wscale, on little-endian machines
	offRateFlags    = 7   // bit 0: tcpi_delivery_rate_app_limited, since 4.9, on little-endian machines
	offUnacked      = 24  // tcpi_unacked
	offNotSent      = 144 // tcpi_notsent_bytes, 4.6
	offDeliveryRate = 160
	unscaledWindow  = 65535
	offBytesSent    = 200 // tcpi_bytes_sent, 4.19
	offTotalRTO     = 240 // tcpi_total_rto, 16 bits, 6.7

	optionSACK = 2 // TCPI_OPT_SACK: selective acknowledgements were agreed
	optionECN  = 8 // TCPI_OPT_ECN: congestion marks were agreed
)

// The oldest kernels in use have this much of the struct: up to tcpi_total_retrans (Linux 2.6).
const leastInfo = 104

// row is one sample of all stored fields.
type row [tcp.NumStored]int64

var absentRow = func() (r row) {
	for f := range r {
		r[f] = tcp.Absent
	}
	return r
}()

// number reads an unsigned field, Absent when the struct ends before it.
func number(info []byte, offset, size int) int64 {
	if len(info) < offset+size {
		return tcp.Absent
	}
	switch b := info[offset:]; size {
	case 1:
		return int64(b[0])
	case 2:
		return int64(binary.NativeEndian.Uint16(b))
	case 4:
		return int64(binary.NativeEndian.Uint32(b))
	default:
		// Above 2^62 only ~0 occurs, which becomes -1 and stands for "unlimited".
		return int64(binary.NativeEndian.Uint64(b))
	}
}

func (u unset) matches(v int64, size int) bool {
	ones := v == math.MaxUint32 && size == 4 || v == -1 && size == 8
	switch u {
	case zero:
		return v == 0
	case infinite:
		return v >= math.MaxInt32
	case allOnes:
		return ones
	case zeroOrOnes:
		return v == 0 || ones
	}
	return false
}

// fill reads the values of a into r. It does not fill the stream offsets, which depend on earlier
// samples.
func (r *row) fill(a *answer) {
	*r = absentRow
	for i := range infoFields {
		f := &infoFields[i]
		v := number(a.info, f.offset, f.size)
		if v == tcp.Absent || f.unset.matches(v, f.size) {
			continue
		}
		r[f.field] = v * f.scale
	}
	if r[tcp.SrttUs] == tcp.Absent {
		r[tcp.RttvarUs] = tcp.Absent // the initial value stands for no measurement
	}
	if r[tcp.DeliveryRateBps] != tcp.Absent && len(a.info) >= offDeliveryRate+8 {
		r[tcp.AppLimited] = int64(a.info[offRateFlags] & 1)
	}
	if len(a.info) > offWindowScale && r[tcp.ReceiveWindowBytes] != tcp.Absent {
		// tcp_select_window() advertises no more than the scale of the handshake allows.
		r[tcp.ReceiveWindowBytes] = min(r[tcp.ReceiveWindowBytes], unscaledWindow<<(a.info[offWindowScale]>>4))
	}
	// tcp_packets_in_flight(). A reset empties the queue and leaves the other counts.
	r[tcp.InFlightPackets] = 0
	if sent := number(a.info, offUnacked, 4); sent > 0 {
		r[tcp.InFlightPackets] = sent - r[tcp.SackedOutPackets] - r[tcp.LostOutPackets] + r[tcp.RetransOutPackets]
	}
	r.fillMemory(a.memory)
	r.fillBBR(a.bbr)
}

// fillMemory reads SK_MEMINFO_* (include/uapi/linux/sock_diag.h): an array of 32-bit values in
// bytes, without the backlog before Linux 3.6.
func (r *row) fillMemory(memory []byte) {
	for i, f := range [...]tcp.Field{
		0: tcp.ReceiveMemoryBytes, 1: tcp.ReceiveBufferBytes, 2: tcp.DeviceQueueBytes, 3: tcp.SendBufferBytes,
		4: tcp.ForwardMemoryBytes, 5: tcp.SendMemoryBytes, 6: tcp.NumStored, /* option memory: not sampled */
		7: tcp.BacklogBytes,
	} {
		if f != tcp.NumStored && len(memory) >= 4*(i+1) {
			// sk_forward_alloc may be negative for a moment.
			r[f] = int64(int32(binary.NativeEndian.Uint32(memory[4*i:])))
		}
	}
}

// fillBBR reads struct tcp_bbr_info: bandwidth in bytes per second as two halves, minimum RTT in
// µs, and the gains in units of 1/256. The mode is not told.
func (r *row) fillBBR(b []byte) {
	if len(b) < 20 {
		return
	}
	if bw := uint64(binary.NativeEndian.Uint32(b)) | uint64(binary.NativeEndian.Uint32(b[4:]))<<32; bw != 0 {
		r[tcp.BBRBandwidthBps] = int64(bw) * 8
	}
	if rtt := binary.NativeEndian.Uint32(b[8:]); rtt != math.MaxUint32 {
		r[tcp.BBRMinRttUs] = int64(rtt)
	}
	r[tcp.BBRPacingGainPct] = int64(binary.NativeEndian.Uint32(b[12:])) * 100 / 256
	r[tcp.BBRCwndGainPct] = int64(binary.NativeEndian.Uint32(b[16:])) * 100 / 256
}

// streams keeps the values that place a flow's stream offsets.
type streams struct {
	extra               int64 // SYN and FIN that bytes_acked counts and bytes_sent does not
	refused             int64 // bytes that bytes_sent counts although the own device refused them
	mss                 int64 // greatest MSS so far: no segment on the way is longer
	sent, written, read int64
}

// fill computes sent_bytes, written_bytes and read_bytes, which only grow.
//
// The kernel takes idiag_wqueue (write_seq - snd_una) and idiag_rqueue (rcv_nxt - copied_seq)
// before it locks the socket for tcp_info, and data may move in between. From 4.19 on the sending
// side is therefore taken from tcp_info alone: bytes_sent - bytes_retrans, plus one for a SYN or a
// FIN that bytes_acked counts too. That extra is learned whenever both ways agree to within the two
// bytes that it can be.
//
// If the own device refuses new data, the kernel counts its bytes in bytes_sent and keeps it
// unsent. These bytes show as soon as more than tcpi_unacked segments would be on the way.
func (s *streams) fill(r *row, a *answer) {
	acked := r[tcp.AckedBytes]
	received := r[tcp.ReceivedBytes]
	if acked == tcp.Absent {
		return // before 4.1
	}
	written := acked + int64(a.sendQueue)
	notSent := number(a.info, offNotSent, 4)
	sent := int64(tcp.Absent)
	if bytesSent := number(a.info, offBytesSent, 8); bytesSent != tcp.Absent {
		first := bytesSent - r[tcp.RetransmittedBytes]
		if extra := written - notSent - first; extra >= 0 && extra <= 2 {
			s.extra = extra
		}
		s.mss = max(s.mss, r[tcp.MSSBytes])
		onTheWay := number(a.info, offUnacked, 4) * s.mss
		s.refused = max(s.refused, first+s.extra-acked-onTheWay)
		sent = max(acked, first+s.extra-s.refused)
		written = sent + notSent
	} else if notSent != tcp.Absent {
		sent = max(acked, written-notSent)
	}
	if sent != tcp.Absent {
		s.sent = max(s.sent, sent)
		r[tcp.SentBytes] = s.sent
	}
	s.written = max(s.written, written)
	r[tcp.WrittenBytes] = s.written
	s.read = max(s.read, received-int64(a.receiveQueue))
	r[tcp.ReadBytes] = min(s.read, received)
}
