package units

import "testing"

func TestNearestSuggestsOnlySimilarWords(t *testing.T) {
	words := []string{"record", "cell", "cc", "fairness", "timewarp"}
	for found, want := range map[string]string{
		"recrod": "record", "sell": "cell", "cel": "cell", "fairnes": "fairness", "timewrap": "timewarp",
		"c": "cc", "ab": "", "upload": "", "": "", "cell": "cell",
	} {
		if got := Nearest(found, words); got != want {
			t.Errorf("nearest to %q: %q, want %q", found, got, want)
		}
	}
}
