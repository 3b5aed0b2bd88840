//go:build kernel

package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airtide/test/cause"
	"airtide/test/need"
)

// Sixteen frequent situations, each built with its cause: info must name it, at the end that the
// situation is recorded at.
func TestInfoNamesTheLimitOfKnownSituations(t *testing.T) {
	need.Root(t)
	programs, err := cause.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range cause.First {
		s := &cause.First[i]
		t.Run(s.Name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "situation.atr")
			if err := s.Record(t.Context(), programs, 1, path); err != nil {
				t.Fatal(err)
			}
			for _, end := range []struct {
				network string
				want    []string
			}{{"10.1.0.1", s.Limits}, {"10.2.0.1", s.Receiver}} {
				if s.Plan.Down {
					end.network = map[string]string{"10.1.0.1": "10.2.0.1", "10.2.0.1": "10.1.0.1"}[end.network]
				}
				if len(end.want) > 0 {
					limitIs(t, path, end.network, end.want[0])
				}
			}
		})
	}
}

// limitIs compares the limit of the flow of an address, as info prints it, with the alternatives.
func limitIs(t *testing.T, path, address, want string) {
	t.Helper()
	var r struct {
		Flows []struct {
			Flow  uint
			Local string
			Limit string
		}
	}
	if err := json.Unmarshal([]byte(mustRun(t, "info", "--json", path)), &r); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, f := range r.Flows {
		if !strings.HasPrefix(f.Local, address) || found {
			continue
		}
		found = true
		if !slices.Contains(strings.Split(want, "|"), f.Limit) {
			t.Errorf("info: the limit at %s is %q, want %q\n%s", address, f.Limit, want, mustRun(t, "diagnose", path))
		}
	}
	if !found {
		t.Errorf("info shows no flow of %s: %+v", address, r)
	}
	if text := mustRun(t, "info", path); !strings.Contains(text, strings.Split(want, "|")[0]+" ") {
		t.Errorf("info prints no %q\n%s", want, text)
	}
}
