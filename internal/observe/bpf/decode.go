package bpf

import (
	"math"
	"net/netip"
	"slices"
	"unsafe"

	"github.com/cilium/ebpf/btf"

	"airtide/internal/tcp"
)

const (
	noRTT            = math.MaxUint32 // minmax before the first measurement; bbr.min_rtt_us likewise
	infiniteSsthresh = 0x7fffffff     // TCP_INFINITE_SSTHRESH
	unlimitedPacing  = math.MaxUint64
	sampleSize       = int(unsafe.Sizeof(monitorSampleRecord{}))
	flowSize         = int(unsafe.Sizeof(monitorFlowRecord{}))
	eventSize        = int(unsafe.Sizeof(monitorEventRecord{}))
	dropSize         = int(unsafe.Sizeof(monitorDropRecord{}))
	sampleFlowOffset = int(unsafe.Offsetof(monitorSampleRecord{}.Flow))
	eventFlowOffset  = int(unsafe.Offsetof(monitorEventRecord{}.Flow))
	inheritedMark    = uint8(monitorMonFlowFlagsFLOW_INHERITED)
	undecidedMark    = uint8(monitorMonFlowFlagsFLOW_UNDECIDED)
	rejectedMark     = uint8(monitorMonFlowFlagsFLOW_REJECTED)
	withPacket       = uint8(monitorMonSampleFlagsSAMPLE_PACKET)
	withCwndLimit    = uint8(monitorMonSampleFlagsSAMPLE_CWND_LIMITED)
	withAppLimit     = uint8(monitorMonSampleFlagsSAMPLE_APP_LIMITED)
	sendBufferFixed  = uint8(monitorMonSampleFlagsSAMPLE_SEND_BUFFER_FIXED)
	ownBufferFixed   = uint8(monitorMonSampleFlagsSAMPLE_RECEIVE_BUFFER_FIXED)
	chronoBusy       = 1 // enum tcp_chrono in include/linux/tcp.h
	chronoRwnd       = 2
	chronoSndbuf     = 3
)

// ticks converts the kernel's jiffies to time.
type ticks struct {
	usPer  int64 // µs of one tick
	nsPer  int64
	refJ   uint32 // a tick and the time at which it was current
	refNs  int64
	anchor bool
}

func newTicks(hz int) ticks {
	return ticks{usPer: int64(1e6 / hz), nsPer: int64(1e9) / int64(hz)}
}

func (t *ticks) us(n uint32) int64 { return int64(n) * t.usPer }

// sync anchors ticks to the clock at the first sample; the two run together from there.
func (t *ticks) sync(jiffies uint32, ns int64) {
	if !t.anchor {
		t.refJ = jiffies
		t.refNs = ns
		t.anchor = true
	}
}

func (t *ticks) toNs(jiffies uint32) int64 { return t.refNs + int64(int32(jiffies-t.refJ))*t.nsPer }

// privateDecoder is a privateState with its places on this kernel.
type privateDecoder struct {
	state *privateState
	at    members
	used  bool // some row has been of this algorithm
}

// decoder turns records into samples and events.
type decoder struct {
	ticks    ticks
	private  map[string]*privateDecoder
	optional []tcp.Field // fields that this kernel lacks
	columns  *columns
	rows     int               // filled rows
	used     []*privateDecoder // the algorithms of these rows: the columns of the others are absent
	with     With
	moreAt   int     // place of the words on demand in a sample's private state
	absent   []int64 // one shared column of absent values, so it stays in the CPU cache
}

// columns is the memory of a batch, at places that are known to the compiler, for a row touches
// every column. Were they a power of two apart they would all fall into the same sets of the
// processor's cache: nine cache lines more spread them.
type columns [tcp.NumStored][batchRows + 9*64/8]int64

// Fields behind members of tcp_sock that are younger than kernel 5.8, or that builds leave out.
var optionalMembers = map[string][]tcp.Field{
	"bytes_retrans": {tcp.RetransmittedBytes},
	"rcv_ooopack":   {tcp.OutOfOrderPackets},
	"dsack_dups":    {tcp.DSackDups},
	"reord_seen":    {tcp.ReorderingSeen},
}

func newDecoder(types *btf.Spec, hz int, private map[string]*privateDecoder) *decoder {
	d := &decoder{ticks: newTicks(hz), private: private}
	for name, fields := range optionalMembers {
		if !hasMember(types, "tcp_sock", name) {
			d.optional = append(d.optional, fields...)
		}
	}
	return d
}

// newBatch makes a batch with all of its rows there, batchRows at most, in which the columns of
// private state are absent.
func (d *decoder) newBatch(rows int) *tcp.Batch {
	d.columns = new(columns)
	b := &tcp.Batch{TimeNs: make([]int64, rows), Flow: make([]tcp.FlowID, rows)}
	d.absent = make([]int64, rows)
	fillAbsent(d.absent)
	for f := range tcp.NumStored {
		b.Cols[f] = d.columns[f][:rows:rows]
		if f.CongestionControlOf() != "" || !d.records(f) {
			b.Cols[f] = d.absent
		}
	}
	return b
}

// records reports whether a field is recorded on demand, or always.
func (d *decoder) records(f tcp.Field) bool {
	return f.OnDemand() == "" || slices.Contains(d.with.Names(), f.OnDemand())
}

// more fills the fields that are recorded on demand.
func (d *decoder) more(s *monitorSampleRecord, i int) {
	c := d.columns
	segment := s.Cc[d.moreAt]
	word := s.Cc[d.moreAt+1]
	has := func(mark monitorMonMoreFlags) bool { return word&uint64(mark) != 0 }
	timed := has(monitorMonMoreFlagsMORE_TIMESTAMPS)
	c[tcp.PeerTimestamp][i] = orAbsent(int64(uint32(segment)), timed)
	c[tcp.EchoedTimestamp][i] = orAbsent(int64(segment>>32), timed)
	c[tcp.WriterBlocked][i] = flag(has(monitorMonMoreFlagsMORE_BLOCKED))
	c[tcp.DeviceThrottled][i] = flag(has(monitorMonMoreFlagsMORE_THROTTLED))
	segments := int64(uint16(word >> monitorMonMoreFlagsMORE_SEGMENTS))
	c[tcp.MergedPackets][i] = orAbsent(segments, segments > 0)
	wait := int64(word >> monitorMonMoreFlagsMORE_WAIT / 1000)
	c[tcp.DeviceWaitUs][i] = orAbsent(wait, wait > 0)
}

// use gives an algorithm columns of its own from row i on.
func (d *decoder) use(p *privateDecoder, b *tcp.Batch, i int) {
	p.used = true
	d.used = append(d.used, p)
	for _, f := range p.state.fields {
		if &b.Cols[f][0] == &d.absent[0] { // else a relative has it already
			b.Cols[f] = d.columns[f][:b.Len():b.Len()]
			fillAbsent(b.Cols[f][:i])
		}
	}
}

// full reports whether the batch has no room for another row.
func (d *decoder) full(b *tcp.Batch) bool { return d.rows == b.Len() }

// deliver hands the filled rows of the batch to f and begins anew. The batch keeps all of its rows
// in between.
func (d *decoder) deliver(b *tcp.Batch, f func(*tcp.Batch) error) error {
	if d.rows == 0 {
		return nil
	}
	all := b.Len()
	b.Resize(d.rows)
	err := f(b)
	b.Resize(all)
	d.rows = 0
	for _, p := range d.used {
		p.used = false
		for _, f := range p.state.fields {
			b.Cols[f] = d.absent
		}
	}
	d.used = d.used[:0]
	return err
}

func fillAbsent(col []int64) {
	for i := range col {
		col[i] = tcp.Absent
	}
}

func orAbsent(v int64, there bool) int64 {
	if there {
		return v
	}
	return tcp.Absent
}

func flag(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// sample fills the next row; the batch must have one left. raw is a sample_record; private is the
// decoder of the flow's algorithm or nil.
func (d *decoder) sample(raw []byte, flow tcp.FlowID, private *privateDecoder, b *tcp.Batch) {
	s := (*monitorSampleRecord)(unsafe.Pointer(unsafe.SliceData(raw)))
	i := d.rows & (batchRows - 1)
	b.TimeNs[i] = int64(s.TimeNs)
	b.Flow[i] = flow
	d.rows++
	d.ticks.sync(s.Jiffies, int64(s.TimeNs))
	c := d.columns
	acked := int64(s.BytesAcked)
	received := int64(s.BytesReceived)
	if s.Flags&withPacket != 0 {
		c[tcp.AckBytes][i] = acked + int64(int32(s.Ack-s.SndUna))
		c[tcp.SeqBytes][i] = received + int64(int32(s.Seq-s.RcvNxt))
		c[tcp.SegmentBytes][i] = int64(s.Payload)
		c[tcp.PeerWindowBytes][i] = int64(s.PeerWindow)
		c[tcp.TCPFlags][i] = int64(s.TcpFlags)
		c[tcp.SackBlocks][i] = int64(s.SackBlocks)
	} else {
		for f := tcp.AckBytes; f <= tcp.SackBlocks; f++ {
			c[f][i] = tcp.Absent
		}
	}

	c[tcp.CwndPackets][i] = int64(s.Cwnd)
	c[tcp.SsthreshPackets][i] = orAbsent(int64(s.Ssthresh), s.Ssthresh < infiniteSsthresh)
	c[tcp.InFlightPackets][i] = 0
	if s.PacketsOut > 0 { // a reset empties the queue and leaves the other counts
		c[tcp.InFlightPackets][i] = int64(s.PacketsOut) - int64(s.SackedOut) - int64(s.LostOut) + int64(s.RetransOut)
	}
	c[tcp.CAStateField][i] = int64(s.CaState)
	c[tcp.ReorderingPackets][i] = int64(s.Reordering)
	c[tcp.LostOutPackets][i] = int64(s.LostOut)
	c[tcp.SackedOutPackets][i] = int64(s.SackedOut)
	c[tcp.RetransOutPackets][i] = int64(s.RetransOut)
	c[tcp.MSSBytes][i] = int64(s.Mss)
	c[tcp.CwndLimited][i] = flag(s.Flags&withCwndLimit != 0)

	measured := s.Srtt != 0
	c[tcp.SrttUs][i] = orAbsent(int64(s.Srtt>>3), measured)
	c[tcp.RttvarUs][i] = orAbsent(int64(s.Mdev>>2), measured)
	c[tcp.RttUs][i] = orAbsent(int64(s.Rtt), s.Rtt != 0)
	c[tcp.MinRttUs][i] = orAbsent(int64(s.MinRtt), s.MinRtt != noRTT)
	c[tcp.ReceiverRttUs][i] = orAbsent(int64(s.ReceiverRtt>>3), s.ReceiverRtt != 0)
	c[tcp.RTOUs][i] = d.ticks.us(s.Rto)
	c[tcp.Backoff][i] = int64(s.Backoff)

	c[tcp.SendWindowBytes][i] = int64(s.SndWnd)
	c[tcp.ReceiveWindowBytes][i] = int64(s.RcvWnd)
	c[tcp.AckedBytes][i] = acked
	c[tcp.SentBytes][i] = acked + int64(s.SndNxt-s.SndUna)
	c[tcp.WrittenBytes][i] = acked + int64(s.WriteSeq-s.SndUna)
	c[tcp.ReceivedBytes][i] = received
	c[tcp.ReadBytes][i] = received - int64(int32(s.RcvNxt-s.CopiedSeq))
	c[tcp.BacklogBytes][i] = int64(s.Backlog)
	c[tcp.SendBufferBytes][i] = int64(s.Sndbuf)
	c[tcp.ReceiveBufferBytes][i] = int64(s.Rcvbuf)
	c[tcp.SendMemoryBytes][i] = int64(s.WmemQueued)
	c[tcp.DeviceQueueBytes][i] = int64(s.WmemAlloc) - 1 // sk_wmem_alloc_get in include/net/sock.h
	c[tcp.ReceiveMemoryBytes][i] = int64(s.RmemAlloc)
	c[tcp.ForwardMemoryBytes][i] = int64(int32(s.ForwardAlloc))
	c[tcp.OutOfOrderPackets][i] = int64(s.OutOfOrder)
	c[tcp.SendBufferFixed][i] = flag(s.Flags&sendBufferFixed != 0)
	c[tcp.ReceiveBufferFixed][i] = flag(s.Flags&ownBufferFixed != 0)

	c[tcp.DeliveredPackets][i] = int64(s.Delivered)
	c[tcp.DeliveredCEPackets][i] = int64(s.DeliveredCe)
	c[tcp.LostPackets][i] = int64(s.Lost)
	c[tcp.RetransmitsPackets][i] = int64(s.TotalRetrans)
	c[tcp.RetransmittedBytes][i] = int64(s.BytesRetrans)
	c[tcp.DSackDups][i] = int64(s.DsackDups)
	c[tcp.ReorderingSeen][i] = int64(s.ReordSeen)
	c[tcp.DeliveryRateBps][i] = tcp.Absent
	if s.RateIntervalUs != 0 {
		c[tcp.DeliveryRateBps][i] = int64(float64(s.RateDelivered) * float64(s.Mss) * 8e6 / float64(s.RateIntervalUs))
	}
	c[tcp.PacingRateBps][i] = orAbsent(int64(s.PacingRate)*8, s.PacingRate != unlimitedPacing)
	c[tcp.AppLimited][i] = flag(s.Flags&withAppLimit != 0)

	// tcp_get_info_chrono_stats in net/ipv4/tcp.c: the running chronograph counts up to now; busy
	// is the sum.
	chrono := s.ChronoStat
	if s.ChronoType >= chronoBusy && s.ChronoType <= chronoSndbuf {
		chrono[s.ChronoType-1] += s.Jiffies - s.ChronoStart
	}
	c[tcp.BusyUs][i] = d.ticks.us(chrono[0] + chrono[1] + chrono[2])
	c[tcp.RwndLimitedUs][i] = d.ticks.us(chrono[chronoRwnd-1])
	c[tcp.SndbufLimitedUs][i] = d.ticks.us(chrono[chronoSndbuf-1])
	c[tcp.StateField][i] = int64(s.State)

	if d.with.moreWords() > 0 {
		d.more(s, i)
	}
	for _, f := range d.optional {
		c[f][i] = tcp.Absent
	}
	for _, p := range d.used {
		if p == private {
			continue
		}
		for _, f := range p.state.fields {
			c[f][i] = tcp.Absent
		}
	}
	if private != nil {
		if !private.used {
			d.use(private, b, i)
		}
		private.state.decode(private.at, s, &d.ticks, c, i)
	}
}

func eventRecord(raw []byte) *monitorEventRecord {
	return (*monitorEventRecord)(unsafe.Pointer(unsafe.SliceData(raw)))
}

// event converts an event_record into e.
func (d *decoder) event(raw []byte, flow tcp.FlowID, e *tcp.Event) {
	r := eventRecord(raw)
	sent := func(seq uint32) int64 { return int64(r.BytesAcked) + int64(int32(seq-r.SndUna)) }
	*e = tcp.Event{
		TimeNs: int64(r.TimeNs), Flow: flow, Kind: tcp.EventKind(r.Event), Code: tcp.ErrorCode(r.Code),
		CAState: tcp.CAState(r.CaState), CwndPackets: r.Cwnd, SsthreshPackets: r.Ssthresh, InFlightPackets: r.InFlight,
		Cause: tcp.Cause(r.Cause), Reason: tcp.Reason(r.Reason), From: r.From, To: r.To, Value: r.Value,
		NumBlocks: min(r.Blocks, tcp.MaxBlocks), CPU: r.Cpu, FromSample: r.FromSample != 0,
	}
	switch e.Kind {
	case tcp.EventRetransmit:
		e.Seq = sent(r.Seq)
		e.EndSeq = sent(r.EndSeq)
	case tcp.EventSack, tcp.EventDsack, tcp.EventDupAck:
		e.Seq = sent(r.Seq)
	case tcp.EventTimeout:
		e.NumBlocks = 0
		e.Value = d.timeout(raw, int(r.Blocks))
	case tcp.EventCCChange:
		e.Text = cString(r.Text[:])
	}
	for i := range e.NumBlocks {
		e.Blocks[i] = tcp.Block{Start: sent(r.Sack[2*i]), End: sent(r.Sack[2*i+1])}
	}
}

// timeouts returns the number of timeouts that a record of one stands for: those found by comparing
// share a record.
func timeouts(raw []byte) int {
	return max(1, int(eventRecord(raw).Blocks))
}

// timeout returns the time in µs of the timeout before which the timer has doubled left times less
// than now.
func (d *decoder) timeout(raw []byte, left int) int64 {
	return d.ticks.us(uint32(eventRecord(raw).Value) >> left)
}

// flow converts a flow_record; the ID is left to the caller.
func (d *decoder) flow(raw []byte) (f tcp.Flow, kernelID uint64, flags uint8) {
	r := (*monitorFlowRecord)(unsafe.Pointer(unsafe.SliceData(raw)))
	addr := func(a [16]uint8) netip.Addr { return addressOf(r.Family, a) }
	return tcp.Flow{
		Local: netip.AddrPortFrom(addr(r.Local), r.LocalPort), Remote: netip.AddrPortFrom(addr(r.Remote), r.RemotePort),
		NetNS: r.Netns, Cgroup: r.Cgroup, PID: r.Pid, Comm: cString(r.Comm[:]), Inode: r.Inode,
		CongestionControl: cString(r.Cc[:]), FirstNs: int64(r.FirstNs), Inherited: r.Flags&inheritedMark != 0,
	}, r.Flow, r.Flags
}

// addressOf converts an address: IPv4 is in the first four bytes.
func addressOf(family uint16, a [16]uint8) netip.Addr {
	const afInet6 = 10
	if family == afInet6 {
		return netip.AddrFrom16(a)
	}
	return netip.AddrFrom4([4]byte(a[:4]))
}

func cString(s []int8) string {
	b := make([]byte, 0, len(s))
	for _, c := range s {
		if c == 0 {
			break
		}
		b = append(b, byte(c))
	}
	return string(b)
}
