package plan

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v4"

	"airtide/experiments"
	"airtide/internal/kernel/timewarp"
	"airtide/internal/lab/document"
	"airtide/internal/units"
)

var update = flag.Bool("update", false, "rewrite experiment.schema.json")

func text(pattern string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: pattern}
}

// orNumber is a quantity that may be a bare number, which YAML has as a number.
func orNumber(s *jsonschema.Schema, least, most float64) *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{s, {Type: "number", Minimum: &least, Maximum: &most}}}
}

func oneOfTexts(c document.Choice) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, v := range c.Choices() {
		s.Enum = append(s.Enum, v)
	}
	return s
}

func mappingOf(t *testing.T, of reflect.Type, options *jsonschema.ForOptions) *jsonschema.Schema {
	t.Helper()
	element, err := jsonschema.ForType(of, options)
	if err != nil {
		t.Fatal(err)
	}
	return &jsonschema.Schema{Type: "object", PropertyNames: text(document.NamePattern), AdditionalProperties: element}
}

// schema is made from the types that the decoder fills.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	types := map[reflect.Type]*jsonschema.Schema{}
	options := &jsonschema.ForOptions{TypeSchemas: types}
	add := func(of reflect.Type, s *jsonschema.Schema) { types[of] = s }

	add(reflect.TypeFor[Rate](), orNumber(text(units.RatePattern), 0, 0))
	add(reflect.TypeFor[Duration](), orNumber(text(units.DurationPattern), 0, 0))
	add(reflect.TypeFor[Size](), orNumber(text(units.SizePattern), 0, 0))
	add(
		reflect.TypeFor[Limit](),
		&jsonschema.Schema{AnyOf: []*jsonschema.Schema{text(document.PacketsPattern), text(units.SizePattern)}},
	)
	add(reflect.TypeFor[Share](), orNumber(text(`^`+units.NumberPattern+` *%$`), 0, 1))
	for _, c := range []document.Choice{
		new(Attachment), new(Standard), new(Category), new(Band), new(Discipline), new(WireDiscipline),
		new(SuperPackets), new(Protocol),
		new(Direction), new(Quantity), new(Take), new(Spread), new(FigureKind), new(CongestionKind),
		new(MachineKind), new(RTO), new(CUBICTime),
	} {
		add(reflect.TypeOf(c).Elem(), oneOfTexts(c))
	}
	add(reflect.TypeFor[GuestKernel](), orNumber(oneOfTexts(new(GuestKernel)), 0, 100))
	add(
		reflect.TypeFor[Alpha](),
		&jsonschema.Schema{
			AnyOf: []*jsonschema.Schema{{Type: "string", Enum: []any{"inf"}}, {Type: "number", Minimum: new(0.0)}},
		},
	)
	add(reflect.TypeFor[ClockRatio](), orNumber(text(timewarp.RatioPattern), 0.1, 1000))
	name := &jsonschema.Schema{Type: "string"}
	add(
		reflect.TypeFor[Names](),
		&jsonschema.Schema{AnyOf: []*jsonschema.Schema{name, {Type: "array", Items: name.CloneSchemas()}}},
	)
	add(reflect.TypeFor[Value](), &jsonschema.Schema{Description: "Any value that the file may have at the path."})
	add(reflect.TypeFor[map[string]string](), &jsonschema.Schema{
		Type: "object", PropertyNames: text(sysctlName.String()),
		AdditionalProperties: &jsonschema.Schema{Types: []string{"string", "number"}},
	})
	add(
		reflect.TypeFor[PointFilter](),
		&jsonschema.Schema{
			Type: "object", PropertyNames: text(document.NamePattern),
			AdditionalProperties: &jsonschema.Schema{Types: []string{"string", "number"}},
		},
	)
	add(reflect.TypeFor[Named[map[string]Value]](), mappingOf(t, reflect.TypeFor[map[string]Value](), options))
	add(reflect.TypeFor[Named[TerminalPath]](), mappingOf(t, reflect.TypeFor[TerminalPath](), options))
	for named, of := range map[reflect.Type]reflect.Type{
		reflect.TypeFor[Named[Terminal]]():          reflect.TypeFor[Terminal](),
		reflect.TypeFor[Named[CongestionControl]](): reflect.TypeFor[CongestionControl](),
		reflect.TypeFor[Named[Server]]():            reflect.TypeFor[Server](),
		reflect.TypeFor[Named[Flow]]():              reflect.TypeFor[Flow](),
		reflect.TypeFor[Named[Measurement]]():       reflect.TypeFor[Measurement](),
		reflect.TypeFor[Named[Claim]]():             reflect.TypeFor[Claim](),
		reflect.TypeFor[Named[Figure]]():            reflect.TypeFor[Figure](),
	} {
		add(named, mappingOf(t, of, options))
	}
	s, err := jsonschema.ForType(reflect.TypeFor[Experiment](), options)
	if err != nil {
		t.Fatal(err)
	}
	s.Schema = "https://json-schema.org/draft/2020-12/schema"
	s.Title = "airtide experiment"
	profile := s.Properties["terminals"].AdditionalProperties.Properties["profile"]
	for _, n := range ProfileNames() {
		profile.Enum = append(profile.Enum, n)
	}
	tidy(s)
	return s
}

// tidy takes out what the library derives from Go and YAML does not know: null for slices and
// pointers. An entry without a value is an empty mapping, though.
func tidy(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type = s.Types[1]
		s.Types = nil
	}
	if s.Type == "" && len(s.Types) == 1 && s.Types[0] == "null" {
		s.Types = nil // a pointer to something with alternatives
	}
	if s.PropertyNames != nil && s.AdditionalProperties != nil && s.AdditionalProperties.Type == "object" {
		s.AdditionalProperties.Types = []string{"object", "null"}
		s.AdditionalProperties.Type = ""
	}
	for _, p := range s.Properties {
		tidy(p)
	}
	for _, a := range s.AnyOf {
		tidy(a)
	}
	tidy(s.Items)
	tidy(s.AdditionalProperties)
}

func TestSchemaFollowsTheTypes(t *testing.T) {
	made, err := json.MarshalIndent(schema(t), "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	made = append(made, '\n')
	if *update {
		if err := os.WriteFile("experiment.schema.json", made, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(made, Schema) {
		t.Error("experiment.schema.json differs from the types: write it by go test ./internal/lab/plan -run Schema " +
			"-update")
	}
}

// published is the schema as editors get it.
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

func validate(t *testing.T, r *jsonschema.Resolved, data []byte) error {
	t.Helper()
	var instance any
	if err := yaml.Load(data, &instance); err != nil {
		t.Fatal(err)
	}
	return r.Validate(instance)
}

func TestExperimentsFollowTheSchema(t *testing.T) {
	r := published(t)
	files := experiments.Names()
	if len(files) == 0 {
		t.Fatalf("found %v", files)
	}
	for _, file := range files {
		data, err := experiments.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := validate(t, r, data); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	if err := validate(t, r, []byte(wholeFile)); err != nil {
		t.Errorf("the file with every field: %v", err)
	}
}

// The schema refuses what the checker refuses, as far as a schema can.
func TestSchemaRefusesWhatTheCheckerRefuses(t *testing.T) {
	r := published(t)
	for _, change := range [][2]string{
		{"phy_rate: 65 Mbit/s", "phy_rate: 65 MHz"},
		{"phy_rate: 65 Mbit/s", "phy_rate: 65"},
		{"phy_rate", "phyrate"},
		{"standard: n", "standard: be"},
		{"protocol: udp", "protocol: quic"},
		{"delay: 5 ms", "delay: 5"},
		{"queue: 500 packets", "queue: many"},
		{"name: whole\n", "\n"},
		{"repeats: 5", "repeats: often"},
	} {
		if !strings.Contains(wholeFile, change[0]) {
			t.Fatalf("the file has no %q", change[0])
		}
		data := []byte(strings.Replace(wholeFile, change[0], change[1], 1))
		if validate(t, r, data) == nil {
			t.Errorf("the schema accepts %q", change[1])
		}
		if _, err := Read(t.Context(), "whole.yaml", data); err == nil {
			t.Errorf("the checker accepts %q", change[1])
		}
	}
}
