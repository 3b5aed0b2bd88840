package result

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"airtide/internal/lab/judge"
	"airtide/internal/lab/plan"
)

var update = flag.Bool("update", false, "write result.schema.json anew")

func orNull() *jsonschema.Schema { return &jsonschema.Schema{Types: []string{"number", "null"}} }

// schema is made from the types that the reader fills.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	var takes []any
	for _, x := range []plan.Take{plan.Each, plan.Sum, plan.Mean, plan.Median, plan.Min, plan.Max, plan.Jain} {
		takes = append(takes, string(x))
	}
	s, err := jsonschema.For[Result](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[Values](): {
			Type: "array", Items: orNull(),
			Description: "null stands for a value that could not be had.",
		},
		reflect.TypeFor[plan.Take](): {Type: "string", Enum: takes},
		reflect.TypeFor[judge.Param](): {
			Type: "object", Required: []string{"text", "number"},
			AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
			Properties: map[string]*jsonschema.Schema{
				"text": {Type: "string", Description: "As the experiment's file has it."},
				"number": {
					Types:       []string{"number", "null"},
					Description: "In bit/s, seconds, bytes or 1; null where it is no quantity.",
				},
			},
		},
	}})
	if err != nil {
		t.Fatal(err)
	}
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "airtide result of a run"
	version := any(Version)
	s.Properties["version"].Const = &version
	return s
}

func TestSchemaFollowsTheTypes(t *testing.T) {
	made, err := json.MarshalIndent(schema(t), "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	made = append(made, '\n')
	if *update {
		if err := os.WriteFile("result.schema.json", made, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(made, Schema) {
		t.Error(
			"result.schema.json differs from the types: write it by go test ./internal/lab/result -run " +
				"SchemaFollows -update",
		)
	}
}

func published(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(Schema, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func validate(t *testing.T, data []byte) error {
	t.Helper()
	var instance any
	if err := json.Unmarshal(data, &instance); err != nil {
		t.Fatal(err)
	}
	return published(t).Validate(instance)
}

func TestResultsFollowTheSchema(t *testing.T) {
	data, err := json.MarshalIndent(whole(t), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := validate(t, data); err != nil {
		t.Error(err)
	}
	p := read(t, small)
	bare, err := json.Marshal(New(p, p.Runs[0]))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate(t, bare); err != nil {
		t.Errorf("a result that was only begun: %v", err)
	}
	for _, change := range [][2]string{
		{`"version": 1`, `"version": 2`},
		{`"repeat": 2`, `"repeat": "two"`},
		{`"take": "each"`, `"take": "some"`},
		{`"run": `, `"ran": `},
		{`"valid": true`, `"valid": "yes"`},
		{`"number": 0.016`, `"number": "16 ms"`},
	} {
		if !strings.Contains(string(data), change[0]) {
			t.Fatalf("the result has no %s", change[0])
		}
		if validate(t, []byte(strings.Replace(string(data), change[0], change[1], 1))) == nil {
			t.Errorf("the schema accepts %s", change[1])
		}
	}
}
