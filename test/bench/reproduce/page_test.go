package main

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"airtide/internal/lab/judge"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/report"
)

func TestHandWrittenTextStays(t *testing.T) {
	dir := t.TempDir()
	of := resultsPages[0]
	p, err := readPage(dir, of)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"p1-fig10", "p5-fig4", "p1-fig7"} {
		p.set(name, "first of "+name+"\n", "| ["+name+"](#"+name+") | 0 |\n")
	}
	p.text = strings.Replace(p.text, sectionEnd("p1-fig7"), sectionEnd("p1-fig7")+"\nwritten by hand\n", 1)
	if err := p.write(dir); err != nil {
		t.Fatal(err)
	}
	p, err = readPage(dir, of)
	if err != nil {
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
	if err := (&page{of, "# Another page\n"}).write(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := readPage(dir, of); err == nil {
		t.Error("a page without a place for the rows is taken")
	}
}

func TestEveryExperimentHasItsPage(t *testing.T) {
	all, err := reproduced(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		name := e.Experiment.Name
		of := pageOf(name)
		p, err := readPage("../../../docs/results", of)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(p.text, sectionBegin(name)) || !strings.Contains(p.text, of.head()) {
			t.Errorf("docs/results/%s has no section of %s", of.file, name)
		}
		if !strings.HasPrefix(p.text, "# "+of.title+"\n") {
			t.Errorf("docs/results/%s does not begin with its title %q", of.file, of.title)
		}
	}
}

// The Makefile tells how long the experiments of the papers take.
func TestTheExperimentsOfThePapersTakeTheHoursOfTheMakefile(t *testing.T) {
	text, err := os.ReadFile("../../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	told := regexp.MustCompile(`(?m)^reproduce:.*\(([0-9.]+) hours`).FindSubmatch(text)
	if told == nil {
		t.Fatal("the Makefile tells no hours of reproduce")
	}
	hours, err := strconv.ParseFloat(string(told[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	all, err := reproduced(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all = slices.DeleteFunc(all, func(e *plan.Plan) bool { return !chosen(e.Experiment.Name, ofPapers) })
	if d := estimate(all); d.Round(10*time.Minute).Hours() > hours || d.Hours() < 0.9*hours {
		t.Errorf("%d experiments take about %s, the Makefile says %g hours", len(all), d, hours)
	}
}

func TestClaimsOfThePaperAndTargetsAreApart(t *testing.T) {
	e := &plan.Plan{Experiment: &plan.Experiment{General: plan.General{
		Name: "p1-fig1", Title: "A title", Source: "A paper, figure 1", Notes: strings.Repeat("word ", 40),
	}}}
	r := &report.Report{Claims: []report.Claim{
		{Says: "It rises.", Where: "section 1", Verdict: judge.Verdict{Outcome: judge.Held}},
		{Says: "It rises by half.", Verdict: judge.Verdict{Outcome: judge.NotHeld}},
	}, Points: []report.Point{{}}}
	want := "| [p1-fig1](#p1-fig1) | A paper, figure 1 | 1 | 0 | 0 | 0 | 1 | 0 | 0 of 0 |\n"
	if got := row(e, r, true); got != want {
		t.Errorf("row %q, want %q", got, want)
	}
	want = "| [p1-fig1](#p1-fig1) | A paper, figure 1 | 1 | 1 | 0 | 0 of 0 |\n"
	if got := row(e, r, false); got != want {
		t.Errorf("row %q, want %q", got, want)
	}
	text := section(e, r, "a machine", true)
	for _, want := range []string{
		"| claim of the paper | place | measured | verdict |\n|---|---|---|---|\n| It rises. | section 1 |  | held |\n",
		"| our target | measured | verdict |\n|---|---|---|\n| It rises by half. |  | not held |\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		if len(strings.TrimSpace(line)) > 100 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}
