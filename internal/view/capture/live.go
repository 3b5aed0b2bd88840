package capture

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"airtide/internal/packets/conn"
	"airtide/internal/units"
)

// mostLive is the number of connections that a live table remembers. If there are more, those with
// the least data are left out.
const mostLive = 4096

// live is an observer that shows the connections of a capture while it is read.
type live struct {
	viewer   *Viewer
	interval time.Duration
	shown    time.Time
	seen     map[uint64]*liveConnection
	firstNs  int64
	lastNs   int64
}

// liveConnection is a connection that may still be open. Its RTTs are smoothed.
type liveConnection struct {
	*conn.Connection
	fromClient, fromServer rtts
}

// rtts are those of the data of a direction: to the ACKs, and of echoes.
type rtts struct{ ackUs, echoUs float64 }

// Live prints the table each interval while the capture is read, and a last time at its end.
func (v *Viewer) Live(ctx context.Context, interval time.Duration) error {
	c, err := Open(ctx, v.Terminal, v.Path)
	if err != nil {
		return err
	}
	defer c.Close()
	l := &live{viewer: v, interval: interval, shown: time.Now(), seen: map[uint64]*liveConnection{}}
	_, damage, err := c.Run(ctx, conn.Options{MaxOpen: v.MaxOpen, Observer: l})
	return errors.Join(err, l.show(), c.Report(damage))
}

// Step follows a connection.
func (l *live) Step(c *conn.Connection, step *conn.Step) error {
	if l.firstNs == 0 {
		l.firstNs = step.Segment.TimeNs
	}
	l.lastNs = max(l.lastNs, step.Segment.TimeNs)
	x := l.seen[c.ID]
	if x == nil {
		if len(l.seen) >= mostLive {
			l.makeRoom()
		}
		x = &liveConnection{Connection: c}
		l.seen[c.ID] = x
	}
	own := &x.fromClient
	other := &x.fromServer
	if !step.Client {
		own = &x.fromServer
		other = &x.fromClient
	}
	if n := len(step.Delays); n > 0 {
		smooth(&other.ackUs, step.Delays[n-1].Ns)
	}
	if step.EchoNs > 0 {
		smooth(&own.echoUs, step.EchoNs)
	}
	if now := time.Now(); now.Sub(l.shown) >= l.interval {
		l.shown = now
		return l.show()
	}
	return nil
}

// smooth takes an RTT in ns into a mean in µs.
func smooth(mean *float64, ns int64) {
	us := float64(ns) / 1000
	if *mean == 0 {
		*mean = us
	}
	*mean += (us - *mean) / 8
}

// sorted are the connections with most data first.
func (l *live) sorted() []*liveConnection {
	all := make([]*liveConnection, 0, len(l.seen))
	for _, x := range l.seen {
		all = append(all, x)
	}
	slices.SortFunc(all, func(a, b *liveConnection) int {
		return cmp.Or(cmp.Compare(b.Bytes(), a.Bytes()), cmp.Compare(a.ID, b.ID))
	})
	return all
}

// makeRoom leaves out a quarter of the connections.
func (l *live) makeRoom() {
	for _, x := range l.sorted()[3*mostLive/4:] {
		delete(l.seen, x.ID)
	}
}

// soFar is the report of a connection that may still be open.
func (x *liveConnection) soFar() conn.Connection {
	c := *x.Connection
	x.fromClient.fill(&c.FromClient)
	x.fromServer.fill(&c.FromServer)
	c.SetSides()
	c.SetResent()
	return c
}

// fill writes the RTTs into a direction.
func (r *rtts) fill(d *conn.Direction) {
	if r.ackUs > 0 {
		d.RTT = &conn.Distribution{P50: r.ackUs}
	}
	if r.echoUs > 0 {
		d.EchoRTT = &conn.Distribution{P50: r.echoUs}
	}
}

// show prints the table.
func (l *live) show() error {
	t := l.viewer.Terminal
	var text bytes.Buffer
	fmt.Fprintf(&text, "%s in %s\n", units.Count(len(l.seen), "connection"), seconds(max(0, l.lastNs-l.firstNs)))
	table := overviewTable()
	for i, x := range l.sorted() {
		if i == l.viewer.Top {
			break
		}
		row := x.soFar()
		addConnection(table, &row)
	}
	if err := table.Write(&text, t.Width, t.Colour); err != nil {
		return err
	}
	if t.Screen {
		return t.Redraw(text.Bytes())
	}
	return t.Print(append(text.Bytes(), '\n'))
}
