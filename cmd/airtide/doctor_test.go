package main

import (
	"testing"

	"airtide/internal/doctor"
	"airtide/internal/view/terminal"
)

func TestDoctorsStatusIsWhetherAnythingCanRun(t *testing.T) {
	lost := doctor.VerbResult{Verb: doctor.Monitor, Verdict: doctor.CannotRun}
	for _, c := range []struct {
		name   string
		report doctor.Report
		status int
	}{
		{"nothing can run", doctor.Report{Verbs: []doctor.VerbResult{lost}}, statusFailed},
		{"what does not observe " +
			"can", doctor.Report{Verbs: []doctor.VerbResult{lost, {Verb: doctor.Cell, Verdict: doctor.Degraded}}}, 0},
	} {
		if got := finish(&terminal.Terminal{}, nil, reportStatus(&c.report)); got != c.status {
			t.Errorf("%s: status %d, want %d", c.name, got, c.status)
		}
	}
}
