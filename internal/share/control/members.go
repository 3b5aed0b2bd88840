package control

import (
	"maps"
	"time"

	"airtide/internal/share/flow"
	"airtide/internal/share/message"
)

const (
	// newSenderTime is for how long after a terminal has begun to take part what it sends is what
	// it sent before.
	newSenderTime = 2 * time.Second
	// leaveTime is after how long a terminal that lets go takes part no more: where queues are long
	// it hears nobody for a second now and then, and in a comparison all let go.
	leaveTime = 5 * time.Second
	// joinTime is for how long a terminal begins to take part: what it had queued without bounds
	// may be taken for others' queues, and each time that it is free again may have added to that.
	joinTime = 10 * time.Second
)

// membership are the terminals that keep to their shares, by session.
type membership map[uint64]member

// joined says whether a terminal keeps to its share that did not a step ago, and whether one of
// those that have just begun sends already.
func (m *membership) update(now time.Duration, peers []message.Peer) (joined, sent bool) {
	if *m == nil {
		*m = make(membership, len(peers))
	}
	if len(*m) > 2*len(peers)+16 { // most of them are gone
		there := make(map[uint64]bool, len(peers))
		for i := range peers {
			there[peers[i].Report.Session] = true
		}
		maps.DeleteFunc(*m, func(session uint64, _ member) bool { return !there[session] })
	}
	for i := range peers {
		r := &peers[i].Report
		k, known := (*m)[r.Session]
		if r.State != message.Controlling {
			switch {
			case known && k.left == 0:
				k.left = now
				(*m)[r.Session] = k
			case now-k.left >= leaveTime:
				delete(*m, r.Session)
			}
			continue
		}
		switch {
		case !known:
			k, joined = member{since: now}, true
		case k.left > 0:
			joined = joined || now-k.since < joinTime
			k.left = 0
		}
		if !k.sent && now-k.since <= newSenderTime && r.UploadKbps.Bps()+r.DownloadKbps.Bps() >= flow.MinDemand {
			k.sent, sent = true, true
		}
		(*m)[r.Session] = k
	}
	return joined, sent
}

// member is a terminal that keeps to its share.
type member struct {
	since time.Duration
	sent  bool          // soon after it had begun to
	left  time.Duration // since when it does not; 0 while it does
}
