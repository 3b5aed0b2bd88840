package terminal

import (
	"bytes"
	"encoding/json"
	"slices"
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

func TestAListIsPrintedElementByElement(t *testing.T) {
	for _, list := range [][]any{{}, {1}, {map[string]any{"list": []any{}, "a": "\u009b"}, []any{1, 2}, "x"}} {
		type object struct {
			Text  string         `json:"text"`
			Inner map[string]any `json:"inner"`
			List  []any          `json:"list"`
			Last  int            `json:"last"`
		}
		value := object{"\"list\":[]", map[string]any{"list": []any{}}, list, 1}
		var got, want bytes.Buffer
		if err := (&Terminal{Out: &want}).JSON(value); err != nil {
			t.Fatal(err)
		}
		value.List = []any{}
		if err := (&Terminal{Out: &got}).JSONWithList(value, "list", slices.Values(list)); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Errorf("got %s\nwant %s", &got, &want)
		}
	}
}
