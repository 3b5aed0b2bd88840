package bpf

import (
	command "flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"airtide/tcp"
)

var update = command.Bool("update", false, "write the generated table of docs/monitor.md")

const (
	guide       = "../../docs/monitor.md"
	tableBegins = "<!-- fields begin: go test ./monitor/bpf -run TestGuide -update -->\n"
	tableEnds   = "<!-- fields end -->\n"
)

func fieldsTable() string {
	kinds := map[tcp.Kind]string{tcp.Gauge: "level", tcp.Counter: "counter", tcp.Enum: "enumeration", tcp.Flag: "flag"}
	var b strings.Builder
	b.WriteString("| field | unit | kind | what | kernel |\n|---|---|---|---|---|\n")
	for f := range tcp.Field(tcp.NumFields) {
		info := f.Info()
		source := "`" + info.Source + "`"
		if f.Computed() {
			source = "computed: " + source
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", info.Name, info.Unit, kinds[info.Kind], info.Doc, source)
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
		t.Fatalf("the table of fields in %s is not that of package tcp: run go test ./monitor/bpf -run TestGuide -update", guide)
	}
	if err := os.WriteFile(guide, []byte(before+tableBegins+fieldsTable()+tableEnds+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestGuideNamesEveryEventCauseReasonAndHook(t *testing.T) {
	text, err := os.ReadFile(guide)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for k := tcp.EventOpen; k <= tcp.EventTLPLoss; k++ {
		names = append(names, k.String())
	}
	for c := tcp.CauseFast; c <= tcp.CauseOther; c++ {
		names = append(names, c.String())
	}
	for r := tcp.ReasonLocalFIN; r <= tcp.ReasonUnknownLeaving; r++ {
		names = append(names, r.String())
	}
	for _, h := range hooks {
		names = append(names, h.name)
	}
	for _, name := range names {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("%s does not name `%s`", guide, name)
		}
	}
}
