package message

import (
	"container/list"
	"net/netip"
)

// What is looked at, in datagrams per second and at once. A terminal sends at most 11 a second, and
// each perhaps twice, by multicast and unicast.
var (
	perSource   = limit{everyNs: 1e9 / 40, burst: 40}
	allPeers    = limit{everyNs: 1e9 / 4000, burst: 4000} // of confirmed sessions, from where they are known
	allUnproven = limit{everyNs: 1e9 / 500, burst: 1000}  // of everything else
)

// mostSources is how many sources' buckets are kept.
const mostSources = 4096

// limit is a token bucket's: a token every so often, and so many at most.
type limit struct{ everyNs, burst int64 }

// bucket is a token bucket, as the time at which it will be full again. The zero value is full.
type bucket struct{ fullNs int64 }

// take takes a token if there is one.
func (b *bucket) take(l limit, nowNs int64) bool {
	full := max(b.fullNs, nowNs)
	if full-nowNs > (l.burst-1)*l.everyNs {
		return false
	}
	b.fullNs = full + l.everyNs
	return true
}

// sources are the buckets of where datagrams came from lately, without those of peers. The one that
// was silent longest makes room.
type sources struct {
	elements map[netip.AddrPort]*list.Element
	recent   list.List // of *source, the latest in front
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
		// Whoever comes back has a full bucket; allUnproven bounds what those with ever new
		// addresses get.
		delete(s.elements, s.recent.Remove(s.recent.Back()).(*source).from)
	}
	added := &source{from: from}
	s.elements[from] = s.recent.PushFront(added)
	return &added.bucket
}
