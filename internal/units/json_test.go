package units

import (
	"encoding/json"
	"testing"
)

func TestEscapedJSONHasTheSameValue(t *testing.T) {
	for _, text := range []string{"plain", "ä µ € 漢 🙂", "\x1b[2J\x7f\u009b31m\u202e\ufeff\U000e0041\n\t\x00", ""} {
		line, err := json.Marshal([]string{text})
		if err != nil {
			t.Fatal(err)
		}
		escaped := EscapeJSON(line)
		var back []string
		if err := json.Unmarshal(escaped, &back); err != nil || back[0] != text {
			t.Errorf("%q becomes %q, %v", text, back, err)
		}
		if clean := Printable(string(escaped)); clean != string(escaped) {
			t.Errorf("%q is escaped as %q", text, escaped)
		}
	}
	if same := EscapeJSON([]byte(`["ä"]`)); string(same) != `["ä"]` {
		t.Errorf("a printable text becomes %s", same)
	}
}
