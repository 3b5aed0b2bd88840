package main

import (
	"encoding/json"
	"path/filepath"
	"time"

	"airtide/internal/share/control"
	"airtide/internal/share/steplog"
)

// noticing returns how many recorded traces decide something else without a rule, and how many
// traces there are.
func noticing(rule control.Rule, folder string) (noticed, all int, err error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.json.gz"))
	if err != nil {
		return 0, 0, err
	}
	for _, path := range paths {
		var core *control.Core
		differs := false
		err := steplog.Replay(path, steplog.Handler{
			Begin: func(c control.Config) {
				c.Options.Disable = []control.Rule{rule}
				core = control.New(c)
			},
			Step: func(now time.Duration, in control.Inputs, want control.Outputs) error {
				if differs {
					return nil
				}
				a, err := json.Marshal(core.Step(now, in))
				if err != nil {
					return err
				}
				b, err := json.Marshal(want)
				differs = string(a) != string(b)
				return err
			},
		})
		if err != nil {
			return 0, 0, err
		}
		if differs {
			noticed++
		}
	}
	return noticed, len(paths), nil
}
