package main

import "strings"

// resultsPage holds the experiments whose names begin with prefix. If paper is set, the claims that
// name a place in the paper are counted apart from our own targets.
type resultsPage struct {
	prefix, file, title string
	paper               bool
}

// resultsPages lists the pages of docs/results that this command writes. The last one takes all
// other experiments.
var resultsPages = []resultsPage{
	{"p1-", "miki-2010.md", "Miki et al. 2010: TCP of Android terminals on a wireless LAN", true},
	{"p2-", "osugi-2012.md", "Osugi et al. 2012: Android on an embedded board", true},
	{"p3-", "onozato-2019.md", "Onozato et al. 2019: TCP errors in accelerated time", true},
	{"p4-", "matsuno-2021.md", "Matsuno et al. 2021: a middleware for terminals that share an access point", true},
	{"p5-", "kozu-2015.md", "Kozu et al. 2015: RTT fairness of CUBIC", true},
	{"share-", "sharing.md", "Sharing an access point", false},
	{"", "congestion.md", "Congestion controls", false},
}

// pageOf returns the page of an experiment.
func pageOf(experiment string) resultsPage {
	for _, p := range resultsPages {
		if strings.HasPrefix(experiment, p.prefix) {
			return p
		}
	}
	panic("the last page takes every experiment")
}

// head returns the header of the page's first table.
func (p resultsPage) head() string {
	columns := []string{"experiment", "source"}
	if p.paper {
		columns = append(columns, "claims held", "not held", "undecided")
	}
	columns = append(columns, "targets held", "not held", "undecided", "runs")
	return tableHead(columns)
}

// tableHead returns the first two lines of a Markdown table.
func tableHead(columns []string) string {
	return "| " + strings.Join(columns, " | ") + " |\n" + strings.Repeat("|---", len(columns)) + "|\n"
}
