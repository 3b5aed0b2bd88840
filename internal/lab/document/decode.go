package document

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"airtide/internal/units"
)

// decoder turns nodes into Go values. The json tags name the fields; fields without omitzero are
// required. It continues after a problem, so one check reports all problems.
type decoder struct {
	problems *Problems
}

// Decode decodes a node into a pointer and adds its problems.
func Decode(n *Node, path string, into any, problems *Problems) {
	(&decoder{problems}).value(n, path, reflect.ValueOf(into).Elem())
}

// selfDecoding types decode nodes themselves.
type selfDecoding interface {
	decode(d *decoder, n *Node, path string)
}

// Choice is a text with a few allowed values.
type Choice interface {
	Choices() []string
}

func (d *decoder) expected(n *Node, path, what string) {
	d.problems.Add(n.Position, path, n.Describe(), what)
}

// value decodes a node into v, which must be addressable.
func (d *decoder) value(n *Node, path string, v reflect.Value) {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		d.value(n, path, v.Elem())
		return
	}
	switch target := v.Addr().Interface().(type) {
	case selfDecoding:
		target.decode(d, n, path)
		return
	case encoding.TextUnmarshaler:
		text, ok := d.text(n, path)
		if !ok {
			return
		}
		if err := target.UnmarshalText([]byte(text)); err != nil {
			d.expected(n, path, expectation(target, err))
		} else if duration, ok := target.(*Duration); ok && *duration > maxDuration {
			d.expected(n, path, expectedDuration)
		}
		return
	case Choice:
		if text, ok := d.text(n, path); ok {
			if !slices.Contains(target.Choices(), text) {
				d.expected(n, path, OneOf(text, target.Choices()))
			}
			v.SetString(text)
		}
		return
	}
	d.plain(n, path, v)
}

// plain decodes a node into a value without a decoder of its own.
func (d *decoder) plain(n *Node, path string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		d.fields(n, path, v)
	case reflect.Slice:
		d.items(n, path, v)
	case reflect.Map:
		d.entries(n, path, v)
	case reflect.String:
		if text, ok := d.text(n, path); ok {
			v.SetString(text)
		}
	case reflect.Bool:
		d.scalar(n, path, "true or false", func(text string) error {
			if text != "true" && text != "false" {
				return strconv.ErrSyntax
			}
			v.SetBool(text == "true")
			return nil
		})
	case reflect.Int:
		d.scalar(n, path, "a whole number", func(text string) error {
			i, err := strconv.ParseInt(text, 10, 32)
			v.SetInt(i)
			return err
		})
	case reflect.Uint64:
		d.scalar(n, path, "a whole number of at least 0", func(text string) error {
			i, err := strconv.ParseUint(text, 10, 64)
			v.SetUint(i)
			return err
		})
	default:
		panic(fmt.Sprintf("plan: %s: no way to decode a %s", path, v.Type()))
	}
}

// expectation returns the expected form of a value, from the error of its parser.
func expectation(target encoding.TextUnmarshaler, err error) string {
	syntax, ok := errors.AsType[*units.SyntaxError](err)
	if !ok {
		return err.Error()
	}
	if _, ok := target.(*Duration); ok {
		bounded := *syntax
		bounded.Expected = expectedDuration
		syntax = &bounded
	}
	return syntax.Want()
}

// text returns the text of a scalar.
func (d *decoder) text(n *Node, path string) (string, bool) {
	if n.Kind != Scalar {
		d.expected(n, path, "a single value")
		return "", false
	}
	return n.Text, true
}

func (d *decoder) scalar(n *Node, path, what string, set func(string) error) {
	if n.Kind != Scalar || set(n.Text) != nil {
		d.expected(n, path, what)
	}
}

// fields decodes a mapping into a struct. An empty value is an empty mapping: "server:" alone
// defines a server.
func (d *decoder) fields(n *Node, path string, v reflect.Value) {
	if n.Kind != Mapping && n.Kind != Nothing {
		d.expected(n, path, "a mapping with some of: "+strings.Join(FieldNames(v.Type()), ", "))
		return
	}
	known := structFields(v.Type())
	for _, f := range n.Fields {
		i := slices.IndexFunc(known, func(k structField) bool { return k.name == f.Name })
		if i < 0 {
			d.problems.AddUnknown(f, path, v.Type())
			continue
		}
		d.value(f.Value, Join(path, f.Name), v.FieldByIndex(known[i].index))
	}
	for _, k := range known {
		if k.required && n.Get(k.name) == nil {
			found := "no " + k.name
			if path != "" {
				found += " in " + path
			}
			expected := "one"
			if k.remedy != "" {
				expected += " (" + k.remedy + ")"
			}
			d.problems.Add(n.Position, path, found, expected)
		}
	}
}

// AddUnknown adds the problem of a field that a struct does not have.
func (ps *Problems) AddUnknown(f Field, path string, of reflect.Type) {
	found := fmt.Sprintf("the unknown field %q", f.Name)
	ps.Add(f.Position, Join(path, f.Name), found, OneOf(f.Name, FieldNames(of)))
}

func (d *decoder) items(n *Node, path string, v reflect.Value) {
	if n.Kind != Sequence {
		d.expected(n, path, "a list")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Items), len(n.Items)))
	for i, item := range n.Items {
		d.value(item, Join(path, strconv.Itoa(i)), v.Index(i))
	}
}

func (d *decoder) entries(n *Node, path string, v reflect.Value) {
	if n.Kind != Mapping && n.Kind != Nothing {
		d.expected(n, path, "a mapping")
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, f := range n.Fields {
		e := reflect.New(v.Type().Elem()).Elem()
		d.value(f.Value, Join(path, f.Name), e)
		v.SetMapIndex(reflect.ValueOf(f.Name), e)
	}
}

func Join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

type structField struct {
	name     string
	index    []int
	required bool
	// remedy is the tag "missing", for the message if a required field is missing.
	remedy string
}

var knownFields sync.Map // reflect.Type to []structField

// structFields returns the fields of a struct by their names in the file, including embedded
// structs.
func structFields(t reflect.Type) []structField {
	if known, ok := knownFields.Load(t); ok {
		return known.([]structField)
	}
	var fields []structField
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous || name == "" || name == "-" {
			continue
		}
		fields = append(fields, structField{name, f.Index, options != "omitzero", f.Tag.Get("missing")})
	}
	knownFields.Store(t, fields)
	return fields
}

func FieldNames(t reflect.Type) []string {
	var names []string
	for _, f := range structFields(t) {
		names = append(names, f.name)
	}
	return names
}
