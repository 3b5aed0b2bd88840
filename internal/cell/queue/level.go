package queue

// Level integrates a value that changes in steps, such as a queue's length, over time. The zero
// value is 0 from time zero on.
type Level struct {
	value, max int64
	area       float64 // value by nanoseconds
	fromNs     int64
	sinceNs    int64
}

// Set changes the value at nowNs, which is never earlier than in the last call.
func (l *Level) Set(value, nowNs int64) {
	l.area += float64(l.value) * float64(nowNs-l.sinceNs)
	l.sinceNs = nowNs
	l.value = value
	l.max = max(l.max, value)
}

// Add changes the level by so much.
func (l *Level) Add(change, nowNs int64) { l.Set(l.value+change, nowNs) }

// Value is the present level.
func (l *Level) Value() int64 { return l.value }

// Max is the highest level since time zero or Restart.
func (l *Level) Max() int64 { return l.max }

// Mean is the level's mean over the time from zero or Restart until now.
func (l *Level) Mean(nowNs int64) float64 {
	if nowNs <= l.fromNs {
		return float64(l.value)
	}
	return (l.area + float64(l.value)*float64(nowNs-l.sinceNs)) / float64(nowNs-l.fromNs)
}

// Restart forgets the past but not the present value, as at the end of a warm-up.
func (l *Level) Restart(nowNs int64) {
	*l = Level{value: l.value, max: l.value, fromNs: nowNs, sinceNs: nowNs}
}
