package main

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"airtide/internal/units"
)

func TestVersionComesFromTheLinkerOrTheBuildInformation(t *testing.T) {
	const hash = "0123456789abcdef0123456789abcdef01234567"
	info := func(settings ...debug.BuildSetting) *debug.BuildInfo { return &debug.BuildInfo{Settings: settings} }
	clean := info(
		debug.BuildSetting{Key: "vcs.revision", Value: hash},
		debug.BuildSetting{Key: "vcs.time", Value: "2026-11-25T12:00:00Z"},
	)
	for name, c := range map[string]struct {
		release, commit, date string
		info                  *debug.BuildInfo
		want                  build
	}{
		"no information":     {want: build{Version: "unknown"}},
		"no version control": {info: info(), want: build{Version: "unknown"}},
		"by the go command": {
			info: clean,
			want: build{Version: hash[:12], Commit: hash, Date: "2026-11-25T12:00:00Z"},
		},
		"a release": {
			release: "v1.2.3", info: clean,
			want: build{Version: "v1.2.3", Commit: hash, Date: "2026-11-25T12:00:00Z"},
		},
		"by the linker": {
			commit: "abc", date: "2027", info: clean,
			want: build{Version: "abc", Commit: "abc", Date: "2027"},
		},
		"changed, by the linker": {
			commit: hash + changes,
			want:   build{Version: hash[:12] + changes, Commit: hash + changes},
		},
		"changed": {
			info: info(
				debug.BuildSetting{Key: "vcs.revision", Value: hash},
				debug.BuildSetting{Key: "vcs.modified", Value: "true"},
			),
			want: build{Version: hash[:12] + changes, Commit: hash + changes},
		},
	} {
		release = c.release
		commit = c.commit
		date = c.date
		got := describeBuild(c.info)
		if got.Go == "" || got.Platform == "" {
			t.Errorf("%s: no Go version or platform: %+v", name, got)
		}
		got.Go = ""
		got.Platform = ""
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
	release = ""
	commit = ""
	date = ""
}

// The reference pages and the topics of airtide help tell the same.
func TestReferencePagesHaveTheTextsOfTheTopics(t *testing.T) {
	page := func(name string) string {
		text, err := os.ReadFile("../../docs/reference/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(text), "`", "")
	}
	statuses := page("exit-status.md")
	for _, s := range statusTable {
		if row := "| " + strconv.Itoa(s.status) + " | " + s.meaning + " |"; !strings.Contains(statuses, row) {
			t.Errorf("exit-status.md has no row %q", row)
		}
	}
	for _, s := range statusOf {
		if row := "| " + s.verb + " | " + s.meaning + " |"; !strings.Contains(statuses, row) {
			t.Errorf("exit-status.md has no row %q", row)
		}
	}
	quantities := page("units.md")
	for _, g := range units.Grammars() {
		if row := "| " + g.Quantity + " | "; !strings.Contains(quantities, row) ||
			!strings.Contains(quantities, "| "+g.Examples+" |") {
			t.Errorf("units.md has no row of %s with the examples %s", g.Quantity, g.Examples)
		}
	}
}
