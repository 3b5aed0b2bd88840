package control

import (
	"time"

	"airtide/internal/share/message"
	"airtide/internal/share/probe"
)

// benefit decides when to compare the cell with and without bounds, and keeps the result.
type benefit struct {
	trial        comparison
	judged       verdict
	last         *Benefit
	reason       string        // reason why bounds do not help
	reasonAt     time.Duration // time of reason
	boundSince   time.Duration // 0 while nothing is bounded
	sharedSince  time.Duration // the same, but release probes do not end it
	probedAt     time.Duration // time of the last release probe; 0: never
	foreignSince time.Duration // start of the foreign queues; 0 without
	ownProbe     bool          // this terminal asked for the last release probe
	standsIn     bool          // this terminal asks for release probes, because the coordinator does not
}

const (
	// firstReleaseProbe is how long windows are bounded before the first release probe.
	firstReleaseProbe = time.Minute
	// releaseProbeEvery and releaseProbeLength: release probes take 1 % of the time.
	releaseProbeEvery  = 200 * time.Second
	releaseProbeLength = 2 * time.Second
	// releaseTime is how long windows are released if bounds do not help.
	releaseTime = 5 * time.Minute
	// neglectedTime is how long a coordinator may let bounds go without a comparison: a release
	// and two probes that fail. Then any terminal asks.
	neglectedTime = 10 * time.Minute
	// Foreign traffic takes what bounded terminals leave. Beside it release probes come sooner and
	// last longer: the first after firstForeignProbe, the next after as long if a terminal had
	// less, or else every foreignProbeEvery.
	firstForeignProbe, foreignProbeEvery = 10 * time.Second, time.Minute
	foreignReleaseProbeLength            = 3 * time.Second
)

// trackForeign notes when foreign queues began that this terminal's probes have not missed since.
func (b *benefit) trackForeign(now time.Duration, r *rttProbe) {
	switch {
	case r.missed() || !r.foreign():
		b.foreignSince = 0
	case b.foreignSince == 0:
		b.foreignSince = now
	}
}

// wantsSecondRTTProbe reports whether an RTT probe has to come before the next release probe: a
// terminal that has less counts only if foreign queues still stand.
func (b *benefit) wantsSecondRTTProbe(lastRTTProbe time.Duration) bool {
	return b.foreignSince > 0 && b.judged.Unconfirmed() && lastRTTProbe < b.probedAt
}

// wantsReleaseProbe reports whether a release probe is due.
func (b *benefit) wantsReleaseProbe(now time.Duration) bool {
	first := firstReleaseProbe
	every := releaseProbeEvery
	since := b.boundSince
	if b.foreignSince > 0 {
		first = firstForeignProbe
		every = foreignProbeEvery
		since = max(since, b.foreignSince)
		if b.judged.Unconfirmed() {
			every = first
		}
	}
	return (now-since >= first || b.neglected(now)) && (b.probedAt == 0 || now-b.probedAt >= every)
}

// neglected reports whether bounds were not compared for long. A coordinator that lies may ask for
// no release probe, or for some that are too short.
func (b *benefit) neglected(now time.Duration) bool {
	last := b.sharedSince
	if b.last != nil {
		last = max(last, b.last.At)
	}
	return b.sharedSince > 0 && now-last >= neglectedTime
}

// compare takes the rates of a step. It returns why bounds do not help, if that has just been
// found.
func (b *benefit) compare(now time.Duration, active probe.Active, since time.Duration, all []Terminal) (reason string) {
	e, found := b.trial.Step(now, active, since, all)
	if active.Kind == message.ReleaseProbe {
		b.ownProbe = active.Own
	}
	if !found {
		return ""
	}
	b.standsIn = b.standsIn && b.ownProbe // else another terminal asks
	b.last = &e
	reason = b.judged.Judge(e, b.foreignSince > 0)
	if reason != "" {
		b.reason = reason
		b.reasonAt = now
	}
	return reason
}

// agrees reports whether this terminal's own last comparison does not contradict a release. It may
// differ a little from that of the peer that asks, since reports come late.
func (b *benefit) agrees(now time.Duration) bool {
	if b.last == nil || now-b.last.At > releaseTime {
		return false
	}
	return !b.last.helpsBy(agreeMargin) || b.judged.Unconfirmed()
}

// releaseReason returns the status text while windows are released.
func (b *benefit) releaseReason(now time.Duration) string {
	const released = "windows of all terminals are released"
	if b.reason == "" || now-b.reasonAt > releaseTime {
		return released
	}
	return released + ": bounds do not help, " + b.reason
}
