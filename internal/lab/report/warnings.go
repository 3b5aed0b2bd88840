package report

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"airtide/internal/lab/result"
)

// warn collects the warnings of the runs and the differences between their systems.
func (r *Report) warn() {
	warned := map[string]int{}
	lacking := map[string]int{}
	versions := map[string]bool{}
	kernels := map[string]bool{}
	files := map[string]bool{}
	for _, run := range r.results {
		for _, w := range warningsOf(run) {
			warned[w]++
		}
		versions[run.System.Airtide] = true
		kernels[run.System.Kernel] = true
		files[run.Experiment.SHA256] = true
		for _, m := range r.plan.Experiment.Measure {
			values := run.Measurements[m.Name].Values
			if len(values) == 0 || slices.ContainsFunc(values, math.IsNaN) {
				lacking[m.Name]++
			}
		}
	}
	r.warnMixed("versions of airtide", versions)
	r.warnMixed("kernels", kernels)
	if len(files) > 1 {
		r.Warnings = append(r.Warnings, "the experiment's file was changed between runs, "+
			"but not in what decides them (see experiment.*.yaml)")
	}
	for _, m := range slices.Sorted(maps.Keys(lacking)) {
		r.Warnings = append(r.Warnings,
			fmt.Sprintf("%s of the runs lack values of %s", count(lacking[m], r.Runs.Finished), m))
	}
	for _, w := range slices.Sorted(maps.Keys(warned)) {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%s (in %s runs)", w, count(warned[w], r.Runs.Finished)))
	}
}

func (r *Report) warnMixed(name string, of map[string]bool) {
	if len(of) > 1 {
		r.Warnings = append(r.Warnings,
			fmt.Sprintf("the runs were made by %d %s: %v", len(of), name, slices.Sorted(maps.Keys(of))))
	}
}

// warningsOf returns the warnings of a run and of its engine, each once.
func warningsOf(r *result.Result) []string {
	all := slices.Clone(r.Warnings)
	if r.Engine != nil {
		all = append(all, r.Engine.Warnings...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func count(n, of int) string { return fmt.Sprintf("%d of %d", n, of) }
