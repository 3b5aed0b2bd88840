package main

import (
	"testing"

	"airtide/experiments"
	"airtide/internal/lab/plan"
	"airtide/test/ns3"
)

func TestEveryRowOfTheReferenceIsInAnExperiment(t *testing.T) {
	rows := map[string]*plan.Setup{}
	for _, name := range []string{"ns3-tcp", "ns3-tcp-mixed"} {
		data, err := experiments.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := plan.Read(t.Context(), name, data)
		if err != nil {
			t.Fatal(err)
		}
		for _, point := range p.Points {
			rows[point.Settings[0].Value.Text] = point.Setup
		}
	}
	reference := ns3.Rows("cubic", "reno")
	for _, line := range reference {
		r := row{line}
		s := rows[r.Name()]
		if s == nil {
			t.Errorf("%s is in no experiment", r.Name())
			continue
		}
		if s.Cell.EIFSAfterCollision != r.Has("preambleDet=0") {
			t.Errorf("%s: EIFS after collisions is %v", r.Name(), s.Cell.EIFSAfterCollision)
		}
		if long := s.Duration == 60e9; long != (r.Case == "S-long60s") {
			t.Errorf("%s lasts %s", r.Name(), s.Duration)
		}
	}
	if len(rows) != len(reference) {
		t.Errorf("%d rows of the experiments for %d of the reference", len(rows), len(reference))
	}
}
