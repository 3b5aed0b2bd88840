package plan

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

// selfDecoding types decode nodes themselves.
type selfDecoding interface {
	decode(d *decoder, n *node, path string)
}

// choice is a text with a few allowed values.
type choice interface {
	choices() []string
}

func (d *decoder) expected(n *node, path, what string) {
	d.problems.add(Problem{n.Position, path, n.describe(), what})
}

// value decodes a node into v, which must be addressable.
func (d *decoder) value(n *node, path string, v reflect.Value) {
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
	case choice:
		if text, ok := d.text(n, path); ok {
			if !slices.Contains(target.choices(), text) {
				d.expected(n, path, oneOf(text, target.choices()))
			}
			v.SetString(text)
		}
		return
	}
	d.plain(n, path, v)
}

// plain decodes a node into a value without a decoder of its own.
func (d *decoder) plain(n *node, path string, v reflect.Value) {
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
		d.scalar(n, path, "a whole number from 0 on", func(text string) error {
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
func (d *decoder) text(n *node, path string) (string, bool) {
	if n.kind != scalar {
		d.expected(n, path, "a single value")
		return "", false
	}
	return n.text, true
}

func (d *decoder) scalar(n *node, path, what string, set func(string) error) {
	if n.kind != scalar || set(n.text) != nil {
		d.expected(n, path, what)
	}
}

// fields decodes a mapping into a struct. An empty value is an empty mapping: "server:" alone
// defines a server.
func (d *decoder) fields(n *node, path string, v reflect.Value) {
	if n.kind != mapping && n.kind != nothing {
		d.expected(n, path, "a mapping with some of: "+strings.Join(fieldNames(v.Type()), ", "))
		return
	}
	known := structFields(v.Type())
	for _, f := range n.fields {
		i := slices.IndexFunc(known, func(k structField) bool { return k.name == f.name })
		if i < 0 {
			d.problems.add(unknownField(f, path, v.Type()))
			continue
		}
		d.value(f.value, join(path, f.name), v.FieldByIndex(known[i].index))
	}
	for _, k := range known {
		if k.required && n.get(k.name) == nil {
			found := "no " + k.name
			if path != "" {
				found += " in " + path
			}
			expected := "one"
			if path == "" && k.name == "flows" {
				expected += " (airtide cell check accepts a cell without flows)"
			}
			d.problems.add(Problem{n.Position, path, found, expected})
		}
	}
}

func unknownField(f field, path string, of reflect.Type) Problem {
	found := fmt.Sprintf("the unknown field %q", f.name)
	return Problem{f.Position, join(path, f.name), found, oneOf(f.name, fieldNames(of))}
}

func (d *decoder) items(n *node, path string, v reflect.Value) {
	if n.kind != sequence {
		d.expected(n, path, "a list")
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.items), len(n.items)))
	for i, item := range n.items {
		d.value(item, join(path, strconv.Itoa(i)), v.Index(i))
	}
}

func (d *decoder) entries(n *node, path string, v reflect.Value) {
	if n.kind != mapping && n.kind != nothing {
		d.expected(n, path, "a mapping")
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for _, f := range n.fields {
		e := reflect.New(v.Type().Elem()).Elem()
		d.value(f.value, join(path, f.name), e)
		v.SetMapIndex(reflect.ValueOf(f.name), e)
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

type structField struct {
	name     string
	index    []int
	required bool
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
		fields = append(fields, structField{name, f.Index, options != "omitzero"})
	}
	knownFields.Store(t, fields)
	return fields
}

func fieldNames(t reflect.Type) []string {
	var names []string
	for _, f := range structFields(t) {
		names = append(names, f.name)
	}
	return names
}
