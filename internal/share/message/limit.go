package message

import (
	"container/list"
	"net/netip"
)

// Limits of examined datagrams. A terminal sends at most 11 reports a second, each at most twice:
// by multicast and by unicast.
var (
	perSource   = limit{everyNs: 1e9 / 40, burst: 40}
	allPeers    = limit{everyNs: 1e9 / 4000, burst: 4000} // datagrams of confirmed sessions at their sources
	allUnproven = limit{everyNs: 1e9 / 500, burst: 1000}  // datagrams of all others
)

// mostSources is the greatest number of buckets of sources.
const mostSources = 4096

// limit is the rate and the size of a token bucket: a token each everyNs, and at most burst tokens.
type limit struct{ everyNs, burst int64 }

// bucket is a token bucket, represented by the time at which it is full. The zero value is full.
type bucket struct{ fullNs int64 }

// take takes a token. It returns false if the bucket is empty.
func (b *bucket) take(l limit, nowNs int64) bool {
	full := max(b.fullNs, nowNs)
	if full-nowNs > (l.burst-1)*l.everyNs {
		return false
	}
	b.fullNs = full + l.everyNs
	return true
}

// sources holds the buckets of recent sources other than peers. If it is full, the longest silent
// source is removed.
type sources struct {
	elements map[netip.AddrPort]*list.Element
	recent   list.List // *source, the latest first
}

type source struct {
	from   netip.AddrPort
	bucket bucket
}

func (s *sources) bucket(from netip.AddrPort) *bucket {
	if e, ok := s.elements[from]; ok {
		s.recent.MoveToFront(e)
		return &e.Value.(*source).bucket
	}
	if len(s.elements) >= mostSources {
		// A removed source gets a full bucket later. allUnproven limits floods from many addresses.
		delete(s.elements, s.recent.Remove(s.recent.Back()).(*source).from)
	}
	added := &source{from: from}
	s.elements[from] = s.recent.PushFront(added)
	return &added.bucket
}
