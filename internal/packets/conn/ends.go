package conn

import (
	"cmp"
	"net/netip"
	"slices"
	"sort"
)

// Ends are the addresses of a connection, as one of its ends names them. Those of a capture and of
// a recording can be compared: IPv4 addresses mapped into IPv6 are IPv4, and zones are left out.
type Ends struct{ Local, Remote netip.AddrPort }

// EndsOf returns comparable ends.
func EndsOf(local, remote netip.AddrPort) Ends { return Ends{plain(local), plain(remote)} }

// Reversed returns the ends as the other end names them.
func (e Ends) Reversed() Ends { return Ends{e.Remote, e.Local} }

func plain(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// Flows finds the flows of a recording by their ends. Their values are of any kind.
type Flows[T any] struct {
	byEnds map[Ends]*[]begun[T]
	mixed  map[Ends]bool // ends with flows that are not in the order of their times
}

type begun[T any] struct {
	ns   int64
	flow T
}

// Add adds a flow that began at a time.
func (f *Flows[T]) Add(ends Ends, ns int64, flow T) {
	if f.byEnds == nil {
		f.byEnds = map[Ends]*[]begun[T]{}
		f.mixed = map[Ends]bool{}
	}
	same := f.byEnds[ends]
	if same == nil {
		same = new([]begun[T])
		f.byEnds[ends] = same
	}
	if n := len(*same); n > 0 && (*same)[n-1].ns > ns {
		f.mixed[ends] = true
	}
	*same = append(*same, begun[T]{ns, flow})
}

// Around returns the last flow between two ends that began until a time, and the first that began
// later. The zero value stands for none.
func (f *Flows[T]) Around(ends Ends, ns int64) (until, later T) {
	all := f.byEnds[ends]
	if all == nil {
		return until, later
	}
	if f.mixed[ends] {
		delete(f.mixed, ends)
		slices.SortStableFunc(*all, func(a, b begun[T]) int { return cmp.Compare(a.ns, b.ns) })
	}
	at := sort.Search(len(*all), func(i int) bool { return (*all)[i].ns > ns })
	if at > 0 {
		until = (*all)[at-1].flow
	}
	if at < len(*all) {
		later = (*all)[at].flow
	}
	return until, later
}
