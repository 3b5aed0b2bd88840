package plot

import "airtide/internal/tcp"

// Derived fields, which follow from fields of a sample. They are numbered behind those.
const (
	cwndBytes        = tcp.Field(tcp.NumFields) + iota // cwnd_packets * mss_bytes
	ssthreshBytes                                      // ssthresh_packets * mss_bytes
	sendEdgeBytes                                      // acked_bytes + send_window_bytes
	receiveEdgeBytes                                   // received_bytes + receive_window_bytes
)

// sourcesOf lists the stored fields that a field, derived or not, is made from.
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

// valueAt is the value of a field, derived or not, in row i. It is tcp.Absent if a part of it is.
func valueAt(b *tcp.Batch, f tcp.Field, i int) int64 {
	if f < tcp.NumStored {
		return b.Cols[f][i]
	}
	switch f {
	case cwndBytes, ssthreshBytes:
		x, y := operands(b, f, i)
		if x == tcp.Absent || y == tcp.Absent {
			return tcp.Absent
		}
		return x * y
	case sendEdgeBytes, receiveEdgeBytes:
		x, y := operands(b, f, i)
		if x == tcp.Absent || y == tcp.Absent {
			return tcp.Absent
		}
		return x + y
	}
	return b.At(f, i)
}

func operands(b *tcp.Batch, f tcp.Field, i int) (int64, int64) {
	sources := sourcesOf(f)
	return b.At(sources[0], i), b.At(sources[1], i)
}
