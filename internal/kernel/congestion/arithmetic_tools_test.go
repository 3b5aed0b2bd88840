//go:build tools

package congestion

import (
	"math/rand/v2"
	"testing"
)

// sampled makes questions with a fixed seed, asks them, and gives each answer to check.
func sampled(t *testing.T, make func(r *rand.Rand) question, check func(q question) (want string, ok bool)) {
	t.Helper()
	r := rand.New(rand.NewPCG(9438, 2013))
	questions := []question{}
	for range samples {
		questions = append(questions, make(r))
	}
	failed := 0
	for _, q := range ask(t, questions) {
		if want, ok := check(q); !ok {
			t.Errorf("%+v: want %s", q, want)
			if failed == 5 {
				t.Fatal("and so on")
			}
			failed++
		}
	}
}
