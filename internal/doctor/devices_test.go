package doctor

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The guide for devices names checks and parts of kernels. Each must be one of the registry's.
func TestGuideForDevicesAgreesWithTheChecks(t *testing.T) {
	text, err := os.ReadFile("../../docs/guide/devices.md")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	remedies := ""
	for _, c := range registry() {
		names[c.name] = true
		remedies += c.remedy + "\n"
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.HasPrefix(cells[1], " `") {
			continue
		}
		rows++
		for _, name := range regexp.MustCompile("`([a-z0-9_]+)`").FindAllStringSubmatch(cells[3], -1) {
			if !names[name[1]] {
				t.Errorf("there is no check %s", name[1])
			}
		}
	}
	if rows != 7 {
		t.Errorf("the table has %d rows", rows)
	}
	for _, config := range regexp.MustCompile(`CONFIG_[A-Z0-9_]{5,}`).FindAllString(string(text), -1) {
		if !strings.Contains(remedies, config) {
			t.Errorf("no remedy names %s", config)
		}
	}
}
