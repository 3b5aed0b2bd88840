package figures

import (
	"slices"
	"strings"
)

// acronyms are written in capitals.
var acronyms = []string{"ap", "bbr", "mac", "phy", "rtt", "srtt", "tcp", "txop", "udp"}

// words makes a name readable: ap_queue becomes AP queue, and jain_index becomes Jain's index.
func words(name string) string {
	parts := strings.Split(name, "_")
	for i, p := range parts {
		switch {
		case slices.Contains(acronyms, p):
			parts[i] = strings.ToUpper(p)
		case p == "jain":
			parts[i] = "Jain's"
		}
	}
	return strings.Join(parts, " ")
}

// list joins the texts that are not empty.
func list(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), ", ")
}
