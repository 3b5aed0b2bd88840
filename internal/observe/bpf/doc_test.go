package bpf

import (
	command "flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"airtide/internal/tcp"
)

var update = command.Bool("update", false, "write the generated table of docs/reference/fields.md")

const (
	guide       = "../../../docs/reference/fields.md"
	tableBegins = "<!-- fields begin: go test ./internal/observe/bpf -run TestGuide -update -->\n"
	tableEnds   = "<!-- fields end -->\n"
)

func fieldsTable() string {
	var b strings.Builder
	b.WriteString("| field | unit | kind | what | kernel |\n|---|---|---|---|---|\n")
	for f := range tcp.Field(tcp.NumFields) {
		info := f.Info()
		source := "`" + info.Source + "`"
		if f.Computed() {
			source = "computed: " + source
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", info.Name, info.Unit, info.Kind, info.Doc, source)
	}
	return b.String()
}

func TestGuideListsEveryField(t *testing.T) {
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), tableBegins)
	table, after, ok2 := strings.Cut(rest, tableEnds)
	if !ok || !ok2 {
		t.Fatalf("%s has no lines %q and %q", guide, tableBegins, tableEnds)
	}
	if table == fieldsTable() {
		return
	}
	if !*update {
		t.Fatalf(
			"the table of fields in %s is not that of package tcp: run go test ./internal/observe/bpf -run "+
				"TestGuide -update",
			guide,
		)
	}
	if err := os.WriteFile(guide, []byte(before+tableBegins+fieldsTable()+tableEnds+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

var kernelFile = regexp.MustCompile("[a-z][a-z0-9_]*\\.c`")

// rowsOf gathers the table rows of a section of the guide by the name that stands first in
// them. Each of them has to say
// in which file of the kernel that is.
func rowsOf(t *testing.T, section string) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(text), "\n## "+section+"\n")
	if !found {
		t.Fatalf("%s has no section %s", guide, section)
	}
	rest, _, _ = strings.Cut(rest, "\n## ")
	rows := map[string][]string{}
	for line := range strings.Lines(rest) {
		after, found := strings.CutPrefix(line, "| `")
		if !found {
			continue
		}
		if !kernelFile.MatchString(after) {
			t.Errorf("%s names no file of the kernel: %s", guide, line)
		}
		name, cells, _ := strings.Cut(after, "` |")
		rows[name] = append(rows[name], strings.TrimSpace(cells))
	}
	return rows
}

func TestGuideNamesEveryEventCauseReasonAndHook(t *testing.T) {
	rows := rowsOf(t, "Events")
	var names []string
	for k := tcp.EventOpen; k <= tcp.EventTLPLoss; k++ {
		names = append(names, k.String())
	}
	for c := tcp.CauseFast; c <= tcp.CauseOther; c++ {
		names = append(names, c.String())
	}
	for r := tcp.ReasonLocalFIN; r < tcp.ReasonStillOpen; r++ {
		names = append(names, r.String())
	}
	for _, name := range names {
		if len(rows[name]) == 0 {
			t.Errorf("%s has no row for `%s`", guide, name)
		}
	}
	rows = rowsOf(t, "Hooks")
	for _, h := range hooks {
		row := strings.Join(rows[h.Name], "")
		if needed := strings.HasSuffix(row, " nothing works |"); !strings.HasPrefix(row, h.Since+" |") ||
			needed != (h.Without == "") {
			t.Errorf("%s describes `%s` as %q: it exists since %s, and without it %q",
				guide, h.Name, row, h.Since, h.Without)
		}
	}
}
