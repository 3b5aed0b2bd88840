package main

import (
	"strings"
	"testing"
)

const source = `package p

import "time"

const (
	text   = "3"
	packet = 8 * 1448
	derived, wait = packet * 2, 3 * time.Second
	part   = 0.5
)

var none = 3
`

func TestConstantsAreFoundAndChanged(t *testing.T) {
	all, err := constantsOf("p.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i := range all {
		c := &all[i]
		for _, factor := range factors {
			for _, line := range strings.Split(string(c.times(factor)), "\n") {
				if !strings.Contains(source, line) {
					got = append(got, strings.Join(strings.Fields(line), " "))
				}
			}
		}
	}
	want := []string{
		"packet = (8 * 1448) * 75 / 100",
		"packet = ((8 * 1448) * 125 + 99) / 100",
		"derived, wait = packet * 2, (3 * time.Second) * 75 / 100",
		"derived, wait = packet * 2, (3 * time.Second) * 125 / 100",
		"part = (0.5) * 75 / 100",
		"part = (0.5) * 125 / 100",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
