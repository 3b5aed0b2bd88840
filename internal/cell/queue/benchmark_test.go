package queue

import "testing"

// A benchmark's operation is one packet through a queue in which 100 wait, taken in turns of 32.
func BenchmarkDisciplines(b *testing.B) {
	const stations, depth, turn = 8, 100, 32
	limit := Limit{Packets: 1000}
	options := FQCoDelOptions{CoDel: WirelessCoDel}
	for _, d := range []struct {
		name string
		make func(Drop) Discipline
	}{
		{"SharedFIFO", func(d Drop) Discipline { return NewSharedFIFO(stations, limit, d) }},
		{"RoundRobin", func(d Drop) Discipline { return NewRoundRobin(stations, limit, Limit{}, d) }},
		{"FQCoDel", func(d Drop) Discipline { return NewFQCoDel(stations, options, d) }},
		{
			"AirtimeFQCoDel",
			func(d Drop) Discipline { return NewAirtimeFQCoDel(stations, options, AirtimeOptions{}, d) },
		},
		{"AckThinning", func(d Drop) Discipline {
			return NewAckThinning(stations, d, func(d Drop) Thinnable { return NewSharedFIFO(stations, limit, d) })
		}},
	} {
		b.Run(d.name, func(b *testing.B) {
			free := make([]*Packet, 0, depth+turn)
			for i := range cap(free) {
				free = append(free, &Packet{Station: i % stations, Flow: uint32(i % 24), Length: 1500, Ack: true})
			}
			q := d.make(func(p *Packet, _ Place, _ int64) { free = append(free, p) })
			nowNs := int64(0)
			b.ReportAllocs()
			for n := 0; n < b.N; {
				for _, p := range free {
					q.Push(p, nowNs)
				}
				free = free[:0]
				station, _ := q.Turn(nowNs)
				for len(free) < turn && q.Head(station, nowNs) != nil {
					free = append(free, q.Pop(station, nowNs))
					n++
				}
				q.Charge(station, 1e6)
				nowNs += 1e6
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "packets/s")
		})
	}
}

func BenchmarkFIFO(b *testing.B) {
	q := NewFIFO(Limit{Packets: 1000}, PlaceStationQueue, nil)
	for range 100 {
		q.Push(&Packet{Length: 1500}, 0)
	}
	b.ReportAllocs()
	for n := range b.N {
		q.Push(q.Pop(int64(n)), int64(n))
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "packets/s")
}

// The whole queue is one fat flow and many thin ones, and each packet is one too many.
func BenchmarkFQCoDelAtTheLimit(b *testing.B) {
	free := make([]*Packet, 0, 2000)
	q := NewFQCoDel(8, FQCoDelOptions{Limit: Limit{Packets: 1000}}, func(p *Packet, _ Place, _ int64) {
		free = append(free, p)
	})
	for i := range cap(free) {
		free = append(free, &Packet{Station: i % 8, Flow: uint32(i % 400), Length: 1500})
	}
	b.ReportAllocs()
	for n := range b.N {
		p := free[len(free)-1]
		free = free[:len(free)-1]
		q.Push(p, int64(n))
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "packets/s")
}
