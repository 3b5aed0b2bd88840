package oracle

import (
	"maps"
	"time"

	"airtide/internal/share/message"
)

const (
	// metFor is for how long after a terminal has begun to take part what it sends is what it sent
	// before.
	metFor = 2 * time.Second
	// leftFor is after how long a terminal that lets go takes part no more: where queues are long
	// it hears nobody for a second now and then, and in a comparison all let go.
	leftFor = 5 * time.Second
	// beginFor is for how long a terminal begins to take part: what it had queued without bounds
	// may be taken for others' queues, and each time that it is free again may have added to that.
	beginFor = 10 * time.Second
)

// participants are the terminals that keep to their shares, by session.
type participants map[uint64]kept

// joined says whether a terminal keeps to its share that did not a step ago, and whether one of
// those that have just begun sends already.
func (p *participants) joined(now time.Duration, peers []message.Peer) (joined, sent bool) {
	if *p == nil {
		*p = make(participants, len(peers))
	}
	if len(*p) > 2*len(peers)+16 { // most of them are gone
		there := make(map[uint64]bool, len(peers))
		for i := range peers {
			there[peers[i].Report.Session] = true
		}
		maps.DeleteFunc(*p, func(session uint64, _ kept) bool { return !there[session] })
	}
	for i := range peers {
		r := &peers[i].Report
		k, known := (*p)[r.Session]
		if r.State != message.Controlling {
			switch {
			case known && k.left == 0:
				k.left = now
				(*p)[r.Session] = k
			case now-k.left >= leftFor:
				delete(*p, r.Session)
			}
			continue
		}
		switch {
		case !known:
			k, joined = kept{since: now}, true
		case k.left > 0:
			joined = joined || now-k.since < beginFor
			k.left = 0
		}
		if !k.sent && now-k.since <= metFor && r.UploadKbps.Bps()+r.DownloadKbps.Bps() >= leastDemand {
			k.sent, sent = true, true
		}
		(*p)[r.Session] = k
	}
	return joined, sent
}

// kept is a terminal that keeps to its share.
type kept struct {
	since time.Duration
	sent  bool          // soon after it had begun to
	left  time.Duration // since when it does not; 0 while it does
}
