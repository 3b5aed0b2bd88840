package main

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatSomebodyWroteStays(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	p, err := readPage(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"p1-fig10", "p5-fig4", "p1-fig7"} {
		p.set(name, "first of "+name+"\n", "| ["+name+"](#"+name+") | 0 |\n")
	}
	p.text = strings.Replace(p.text, sectionEnd("p1-fig7"), sectionEnd("p1-fig7")+"\nwritten by hand\n", 1)
	if err := p.write(path); err != nil {
		t.Fatal(err)
	}
	if p, err = readPage(path); err != nil {
		t.Fatal(err)
	}
	p.set("p1-fig7", "second of p1-fig7\n", "| [p1-fig7](#p1-fig7) | 1 |\n")
	at := 0
	for _, want := range []string{
		"| [p1-fig7](#p1-fig7) | 1 |\n| [p1-fig10](#p1-fig10) | 0 |\n| [p5-fig4](#p5-fig4) | 0 |\n" + rowsEnd,
		"second of p1-fig7\n", "written by hand\n", "first of p1-fig10\n", "first of p5-fig4\n",
	} {
		i := strings.Index(p.text[at:], want)
		if i < 0 {
			t.Fatalf("%q is not there, or not in its place:\n%s", want, p.text)
		}
		at += i + len(want)
	}
	if strings.Contains(p.text, "first of p1-fig7") || strings.Count(p.text, "p1-fig7 begin") != 1 {
		t.Errorf("the old section stayed:\n%s", p.text)
	}
	if err := (&page{"# Another page\n"}).write(path); err != nil {
		t.Fatal(err)
	}
	if _, err := readPage(path); err == nil {
		t.Error("a page without a place for the rows is taken")
	}
}
