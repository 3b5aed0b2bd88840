package main

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"airtide/internal/view/terminal"
)

// release, commit and date are set at link time by make, for builds whose build information has no
// version control:
// -X main.release=v1.2.3 -X main.commit=0123abcd -X main.date=2026-11-25T12:00:00Z.
var release, commit, date string

// build describes the binary.
type build struct {
	// Version is the release, or the short commit, or "unknown".
	Version string `json:"version"`
	// Commit is the full hash, with "+changes" if the source had uncommitted changes.
	Commit string `json:"commit,omitempty"`
	// Date is the time of the commit, RFC 3339.
	Date     string `json:"date,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// describeBuild reads what the linker and the go command left in the binary. The linker's values
// come first.
func describeBuild(info *debug.BuildInfo) build {
	b := build{
		Version: release, Commit: commit, Date: date,
		Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	if info != nil {
		set := map[string]string{}
		for _, s := range info.Settings {
			set[s.Key] = s.Value
		}
		if b.Commit == "" && set["vcs.revision"] != "" {
			b.Commit = set["vcs.revision"]
			if set["vcs.modified"] == "true" {
				b.Commit += changes
			}
		}
		if b.Date == "" {
			b.Date = set["vcs.time"]
		}
	}
	if b.Version == "" && b.Commit != "" {
		hash, changed := strings.CutSuffix(b.Commit, changes)
		b.Version = hash[:min(12, len(hash))]
		if changed {
			b.Version += changes
		}
	}
	if b.Version == "" {
		b.Version = "unknown"
	}
	return b
}

// changes marks a commit with uncommitted changes.
const changes = "+changes"

// version is the release, or the commit that the binary was built from.
func version() string { return thisBuild().Version }

func thisBuild() build {
	info, _ := debug.ReadBuildInfo()
	return describeBuild(info)
}

func newVersion(t *terminal.Terminal) *cobra.Command {
	var asJSON jsonFlag
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the version, commit, date and Go version of this binary",
		Example: `  airtide version
  airtide version --json | jq -r .commit`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			b := thisBuild()
			if asJSON {
				return t.JSON(b)
			}
			text := "airtide " + b.Version + "\n"
			for _, line := range [][2]string{
				{"commit", b.Commit}, {"date", b.Date}, {"go", b.Go}, {"platform", b.Platform},
			} {
				if line[1] != "" {
					text += "  " + line[0] + strings.Repeat(" ", 10-len(line[0])) + line[1] + "\n"
				}
			}
			return t.Print([]byte(text))
		},
	}
	asJSON.register(cmd.Flags(), "print it as JSON")
	return cmd
}
