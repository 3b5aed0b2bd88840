package radio

import (
	"time"

	"airtide/internal/kernel/nl80211"
	"airtide/internal/tcp"
)

// surveyEvery is the time between two questions for the channel's times. Some drivers ask their
// firmware, which holds up other requests.
const surveyEvery = time.Second

// busyTime follows the busy part of a channel's time. The zero value is ready.
type busyTime struct {
	at   time.Duration // time of the last question, on the monotonic clock
	last tcp.Radio     // the answer
	part float64       // between the last two answers; 0: unknown
}

// ask asks for the times of the channel if the last question was long enough ago. It returns the
// busy part of the time between the last two answers, or 0 if the driver tells none, after a change
// of the channel, and after the driver set its counters back.
func (b *busyTime) ask(now time.Duration, survey func() (nl80211.Survey, bool, error)) float64 {
	if now-b.at < surveyEvery {
		return b.part
	}
	b.at = now
	b.part = 0
	channel, known, err := survey()
	if err != nil || !known {
		b.last = tcp.Radio{}
		return 0
	}
	answer := tcp.Radio{Kind: tcp.RadioChannel, Values: channel.Values}
	if timeMs, busyMs, ok := answer.ChannelGrowth(&b.last); ok && timeMs > 0 {
		b.part = float64(busyMs) / float64(timeMs)
	}
	b.last = answer
	return b.part
}
