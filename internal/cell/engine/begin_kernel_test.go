//go:build kernel

package engine

import (
	"encoding/json"
	"testing"
	"time"

	"airtide/internal/sys/clock"
	"airtide/test/testnet"
)

func TestEverythingCountsFromBegin(t *testing.T) {
	c := pair(lineConfig{RateBps: 10e6, Limit: 10})
	c.Ports[0].Refuse = true
	e := start(t, c)
	sink(t, e, "server")
	in(t, e, "server", func() error { return sendUDP("192.0.2.1", 5) })
	in(t, e, "station", func() error { return ignoreRefusal(sendUDP("10.88.1.1", 100)) })
	testnet.Eventually(t, 5*time.Second, "the packets to arrive", func() bool {
		station := status(t, e).port("station")
		server := status(t, e).port("server")
		return station.Refused > 0 && station.PacketsIn+station.Refused == 100 &&
			server.PacketsOut == station.PacketsIn && server.Unroutable == 5
	})
	before := status(t, e)
	if before.BeginNs != e.Ready.StartNs {
		t.Errorf("before Begin time counts from %d, want the start, %d", before.BeginNs, e.Ready.StartNs)
	}
	early := clock.Now()
	if err := e.Begin(); err != nil {
		t.Fatal(err)
	}
	late := clock.Now()
	s := status(t, e)
	end := clock.Now()
	if s.BeginNs < early || s.BeginNs > late || s.BeginNs+s.TimeNs < late || s.BeginNs+s.TimeNs > end {
		t.Errorf("Begin between %d and %d: it says %d, and %d later, want at most %d", early, late, s.BeginNs, s.TimeNs,
			end)
	}
	for _, p := range s.Ports {
		if p.PortCounts != (PortCounts{}) {
			t.Errorf("port %s has counted %+v", p.Name, p.PortCounts)
		}
	}
	if s.Lag.Count != 0 || s.CPUNs >= before.CPUNs || s.Exhausted != 0 {
		t.Errorf("after Begin: lag %+v, CPU %d ns of %d before, %d lost for want of slots", s.Lag, s.CPUNs,
			before.CPUNs, s.Exhausted)
	}
	var world lineCounts
	if err := json.Unmarshal(
		s.World, &world,
	); err != nil || world.Pushed != 0 || world.BeganNs != s.BeginNs-e.Ready.StartNs {
		t.Errorf("the world saw %+v (%v), want it told of Begin at %d", world, err, s.BeginNs-e.Ready.StartNs)
	}
	in(t, e, "station", func() error { return sendUDP("10.88.1.1", 7) })
	testnet.Eventually(
		t, 5*time.Second, "the next packets to arrive",
		func() bool { return status(t, e).port("server").PacketsOut == 7 },
	)
	if s := status(t, e); s.port("station").PacketsIn != 7 || s.Lag.Count != 7 {
		t.Errorf("after seven packets %d have entered and %d lags are counted", s.port("station").PacketsIn,
			s.Lag.Count)
	}
}

// The engine takes statuses at their times while nobody asks for them, for longer than the pipe to
// its caller could hold them.
func TestScheduledStatusesAreTakenAtTheirTimes(t *testing.T) {
	e := start(t, pair(lineConfig{RateBps: 10e6, Limit: 10}))
	const interval, count = time.Millisecond, 500
	times := make([]time.Duration, count)
	for i := range times {
		times[i] = time.Duration(i) * interval
	}
	if err := e.Begin(times...); err != nil {
		t.Fatal(err)
	}
	if s, err := e.TakenStatus(); err != nil || s != nil && s.TimeNs > int64(time.Second) {
		t.Fatalf("at first it has %+v, %v", s, err)
	} else if s != nil {
		times = times[1:]
	}
	testnet.Idle(t, count*interval+100*time.Millisecond, "nobody asks meanwhile")
	for _, at := range times {
		s, err := e.TakenStatus()
		if err != nil || s == nil {
			t.Fatalf("the status of %s is %+v, %v", at, s, err)
		}
		if late := time.Duration(s.TimeNs) - at; late < 0 || late > 100*time.Millisecond {
			t.Errorf("the status of %s is of %s", at, time.Duration(s.TimeNs))
		}
	}
	if s, err := e.TakenStatus(); err != nil || s != nil {
		t.Errorf("after the last it has %+v, %v", s, err)
	}
}
