package terminal

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestJSONIsIndentedAsByTheStandardLibrary(t *testing.T) {
	value := map[string]any{
		"empty": []int{}, "none": map[string]int{}, "null": nil, "text": "a{[,:\"\\]}\n", "ä": []any{1, 2.5, true, "x"},
		"deep": []any{map[string]any{"a": []any{[]any{}}}},
	}
	var got, want bytes.Buffer
	if err := (&Terminal{Out: &got}).JSON(value); err != nil {
		t.Fatal(err)
	}
	e := json.NewEncoder(&want)
	e.SetIndent("", "  ")
	if err := e.Encode(value); err != nil {
		t.Fatal(err)
	}
	if got.String() != want.String() {
		t.Errorf("got %s\nwant %s", &got, &want)
	}
}
