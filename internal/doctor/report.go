package doctor

import (
	"encoding/json"
	"slices"
)

// Report is the result of an examination.
type Report struct {
	Machine Machine
	Checks  []Result
	Verbs   []VerbResult
}

// Usable is false if no verb that needs the kernel can run. The remaining verbs only read files.
func (r *Report) Usable() bool {
	return slices.ContainsFunc(r.Verbs, func(v VerbResult) bool { return !v.idle && v.Verdict != CannotRun })
}

// UnusableError means that no verb that needs the kernel can run.
type UnusableError struct{}

func (UnusableError) Error() string { return "no verb that needs the kernel can run" }

// ExitStatus returns the exit status of a program that ends with this error.
func (UnusableError) ExitStatus() int { return 1 }

// Check returns a result by name.
func (r *Report) Check(name string) (Result, bool) {
	i := slices.IndexFunc(r.Checks, func(c Result) bool { return c.Name == name })
	if i < 0 {
		return Result{}, false
	}
	return r.Checks[i], true
}

// Verb returns the verdict on a verb. It reports false for verbs that this build does not have.
func (r *Report) Verb(name Verb) (VerbResult, bool) {
	i := slices.IndexFunc(r.Verbs, func(v VerbResult) bool { return v.Verb == name })
	if i < 0 {
		return VerbResult{}, false
	}
	return r.Verbs[i], true
}

// MarshalJSON writes the report with the verdict on the whole machine.
func (r *Report) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Usable  bool         `json:"usable"`
		Machine Machine      `json:"machine"`
		Verbs   []VerbResult `json:"verbs"`
		Checks  []Result     `json:"checks"`
	}{r.Usable(), r.Machine, r.Verbs, r.Checks})
}

func (r *Report) judgeVerbs() {
	r.Verbs = nil
	for _, v := range verbTable {
		r.Verbs = append(r.Verbs, v.judge(r.Checks))
	}
}
