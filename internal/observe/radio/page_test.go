package radio

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"airtide/internal/tcp"
)

// Each kind of record and each value has a row in the reference.
func TestReferenceHasEachKindAndValue(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/radio.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for k := tcp.RadioInterface; k <= tcp.RadioChannelSwitch; k++ {
		rows = append(rows, fmt.Sprintf("| `%s` | ", k))
	}
	for _, f := range tcp.RadioFields() {
		i := f.Info()
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s | `%s` |\n", i.Name, i.Kind, i.Doc, i.Source))
	}
	for _, row := range rows {
		if !strings.Contains(string(text), row) {
			t.Errorf("the page lacks %s", row)
		}
	}
}
