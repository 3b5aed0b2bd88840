package report

import (
	"slices"

	"airtide/internal/lab/judge"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
)

// Report is the summary of a result.
type Report struct {
	Experiment string `json:"experiment"`
	Title      string `json:"title,omitempty"`
	Source     string `json:"source,omitempty"`
	Dir        string `json:"dir"`

	Runs RunCount `json:"runs"`
	// Warnings are reasons to be careful with the numbers.
	Warnings []string `json:"warnings,omitempty"`

	Parameters []string `json:"parameters"`
	Points     []Point  `json:"points"`
	Claims     []Claim  `json:"claims,omitempty"`

	folder  *result.Folder
	plan    *plan.Plan
	results []*result.Result
	seed    uint64
}

// Plan returns the plan of the result.
func (r *Report) Plan() *plan.Plan { return r.plan }

// Finished returns the finished runs.
func (r *Report) Finished() []*result.Result { return r.results }

// RunDir returns the folder of a run.
func (r *Report) RunDir(run string) string { return r.folder.RunDir(run) }

// RunCount counts the planned and the finished runs.
type RunCount struct {
	Planned  int `json:"planned"`
	Finished int `json:"finished"`
	// Missing are unfinished runs, including those with only failed attempts.
	Missing    []string         `json:"missing,omitempty"`
	Unreadable []string         `json:"unreadable,omitempty"`
	Failures   []result.Failure `json:"failures,omitempty"`
}

// Point is one combination of the sweep's values.
type Point struct {
	ID           string         `json:"id"`
	Settings     []plan.Setting `json:"settings"`
	Runs         int            `json:"runs"`
	Measurements []Measurement  `json:"measurements"`
}

// Measurement describes a measurement over the runs of a point.
type Measurement struct {
	Name     string        `json:"name"`
	Quantity plan.Quantity `json:"quantity"`
	Unit     string        `json:"unit"`
	Take     plan.Take     `json:"take"`
	// Summary summarises one value per run. If a run has several values, this is their mean.
	Summary judge.Summary `json:"summary"`
	// Jain is Jain's index of the values in each run, if a run has several.
	Jain *judge.Summary `json:"jain,omitempty"`
	// Each has an entry for each flow or terminal, if there are several.
	Each []Each `json:"each,omitempty"`
}

// Each is one flow or terminal over the runs of a point.
type Each struct {
	Of      string        `json:"of"`
	Summary judge.Summary `json:"summary"`
}

// Claim is a claim of the experiment with its verdict.
type Claim struct {
	Name    string        `json:"name"`
	Says    string        `json:"says"`
	Where   string        `json:"where,omitempty"`
	Verdict judge.Verdict `json:"verdict"`
}

// Refuted reports whether a claim is not held. An undecided claim is not refuted.
func (r *Report) Refuted() bool {
	return slices.ContainsFunc(r.Claims, func(c Claim) bool { return c.Verdict.Outcome == judge.NotHeld })
}
