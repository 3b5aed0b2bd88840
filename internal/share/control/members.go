package control

import (
	"maps"
	"time"

	"airtide/internal/share/flow"
	"airtide/internal/share/message"
)

const (
	// newSenderTime: traffic that a terminal carries within this time after it joined began before
	// that.
	newSenderTime = 2 * time.Second
	// leaveTime is how long a terminal may release its windows until it counts as gone. Behind long
	// queues a terminal misses all reports for a second now and then, and in a comparison all
	// release their windows.
	leaveTime = 5 * time.Second
	// joinTime is how long a terminal counts as new. What it queued without bounds may look like
	// foreign queues, and every release may have added to it.
	joinTime = 10 * time.Second
)

// membership holds the terminals that bound their windows, by session.
type membership map[uint64]member

// update takes the newest reports. joined means that a terminal bounds its windows now and did not
// before; sent means that a new one already sends.
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
			k = member{since: now}
			joined = true
		case k.left > 0:
			joined = joined || now-k.since < joinTime
			k.left = 0
		}
		if !k.sent && now-k.since <= newSenderTime && r.UploadKbps.Bps()+r.DownloadKbps.Bps() >= flow.MinDemand {
			k.sent = true
			sent = true
		}
		(*m)[r.Session] = k
	}
	return joined, sent
}

// member is a terminal that bounds its windows.
type member struct {
	since time.Duration
	sent  bool          // it already sent when it joined
	left  time.Duration // time at which it released its windows; 0 while it bounds them
}
