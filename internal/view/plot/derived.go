package plot

import "airtide/internal/tcp"

// Measures that figures draw and that are not fields of a sample. They are numbered behind the
// fields.
const (
	cwndBytes        = tcp.Field(tcp.NumFields) + iota // cwnd_packets * mss_bytes
	ssthreshBytes                                      // ssthresh_packets * mss_bytes
	sendEdgeBytes                                      // acked_bytes + send_window_bytes: the last byte that may be sent
	receiveEdgeBytes                                   // received_bytes + receive_window_bytes: the last byte that may come
)

// sourcesOf lists the stored fields that a field or measure is made from.
func sourcesOf(f tcp.Field) []tcp.Field {
	switch f {
	case cwndBytes:
		return []tcp.Field{tcp.CwndPackets, tcp.MSSBytes}
	case ssthreshBytes:
		return []tcp.Field{tcp.SsthreshPackets, tcp.MSSBytes}
	case sendEdgeBytes:
		return []tcp.Field{tcp.AckedBytes, tcp.SendWindowBytes}
	case receiveEdgeBytes:
		return []tcp.Field{tcp.ReceivedBytes, tcp.ReceiveWindowBytes}
	}
	return f.Sources()
}

// valueAt is a field or measure of row i, tcp.Absent when a part of it is absent.
func valueAt(b *tcp.Batch, m tcp.Field, i int) int64 {
	if m < tcp.NumStored {
		return b.Cols[m][i]
	}
	switch m {
	case cwndBytes, ssthreshBytes:
		x, y := operands(b, m, i)
		if x == tcp.Absent || y == tcp.Absent {
			return tcp.Absent
		}
		return x * y
	case sendEdgeBytes, receiveEdgeBytes:
		x, y := operands(b, m, i)
		if x == tcp.Absent || y == tcp.Absent {
			return tcp.Absent
		}
		return x + y
	}
	return b.At(m, i)
}

func operands(b *tcp.Batch, m tcp.Field, i int) (int64, int64) {
	sources := sourcesOf(m)
	return b.At(sources[0], i), b.At(sources[1], i)
}
