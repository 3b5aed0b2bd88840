package owner

import (
	"strconv"
	"strings"
	"testing"
)

func TestParseNetNSSaysWhatIsWrong(t *testing.T) {
	for arg, want := range map[string]string{
		"":                  "want an inode number",
		"no-such-name":      "ip netns list",
		"0":                 "no such name",
		"99999999999":       "no such name",
		"pid:":              "want a process id",
		"pid:abc":           "want a process id",
		"pid:2147483647":    "there is no such process",
		"/no/such/file":     "no such file",
		"/proc/self/ns/mnt": "another kind",
		"/proc/self/status": "not a namespace",
		"/etc":              "not a namespace",
	} {
		if got, err := ParseNetNS(arg); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), strconv.Quote(arg)) {
			t.Errorf("%q: got %d, error %v, want %q and the argument in it", arg, got, err, want)
		}
	}
}
