package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// help is the help text of one verb, taken apart.
type help struct {
	about    string
	sections []helpSection
}

type helpSection struct {
	title string
	lines []string
}

var heading = regexp.MustCompile(`^[A-Z][A-Za-z ]*:$`)

// parseHelp takes a text of --help apart: a description, then sections with a title and a colon.
func parseHelp(text string) help {
	var h help
	var about []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n ")
		switch {
		case heading.MatchString(line):
			h.sections = append(h.sections, helpSection{title: strings.TrimSuffix(line, ":")})
		case strings.HasPrefix(line, `Use "airtide`):
		case len(h.sections) == 0:
			about = append(about, line)
		default:
			last := &h.sections[len(h.sections)-1]
			last.lines = append(last.lines, line)
		}
	}
	h.about = strings.TrimSpace(strings.Join(about, "\n"))
	return h
}

// keepExamples takes the examples of a wider text, so that none is broken.
func (h help) keepExamples(wide help) {
	for i, s := range wide.sections {
		if s.title == "Examples" {
			h.sections[i] = s
		}
	}
}

// A verb is a name below "Available Commands" with its short description.
type verb struct{ name, short string }

// verbs are those below "Available Commands", without those that every program of its kind has. A
// description that goes on in the next line is indented further there.
func (h help) verbs() (all []verb) {
	for _, s := range h.sections {
		if s.title != "Available Commands" {
			continue
		}
		for _, line := range s.lines {
			name, short, _ := strings.Cut(strings.TrimPrefix(line, "  "), " ")
			short = strings.TrimSpace(short)
			switch {
			case name != "":
				all = append(all, verb{name, short})
			case short != "" && len(all) > 0:
				all[len(all)-1].short += " " + short
			}
		}
	}
	return slices.DeleteFunc(all, func(v verb) bool { return v.name == "help" || v.name == "completion" })
}

// page is the man page of a verb in roff. The verb is "airtide" or "airtide lab run". Without a
// short description, the first paragraph of the text is one.
func (h help) page(verb, short, version string) string {
	name := strings.ReplaceAll(verb, " ", "-")
	rest := h.about
	if short == "" {
		short, rest, _ = strings.Cut(h.about, "\n\n")
		short = strings.ReplaceAll(short, "\n", " ")
	}
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %q 1 \"\" %q \"User Commands\"\n", strings.ToUpper(name), "airtide "+version)
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", name, roff(strings.TrimRight(short, ".")))
	for _, s := range h.sections {
		if s.title == "Usage" {
			b.WriteString(section("SYNOPSIS", s.lines))
		}
	}
	rest = strings.Trim(rest, "\n")
	if rest != "" {
		b.WriteString(section("DESCRIPTION", strings.Split(rest, "\n")))
	}
	for _, s := range h.sections {
		if s.title != "Usage" {
			b.WriteString(section(strings.ToUpper(s.title), s.lines))
		}
	}
	return b.String()
}

// section keeps the lines as they are, since help texts have columns.
func section(title string, lines []string) string {
	text := strings.Trim(strings.Join(lines, "\n"), "\n")
	var b strings.Builder
	fmt.Fprintf(&b, ".SH %s\n.nf\n", title)
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString(roff(line) + "\n")
	}
	b.WriteString(".fi\n")
	return b.String()
}

// roff escapes a line of text.
func roff(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "-", `\-`, "µ", `\[mc]`).Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	return line
}

// pageWidth is the width of a page's text. man indents it by 7 columns of 80.
const pageWidth = 73

// listWidth is wider than any line of a list, so that none is broken.
const listWidth = 1000

// writeManPages writes one page for each verb and each help topic of a program into a folder.
func writeManPages(binary, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	binary, err := filepath.Abs(binary)
	if err != nil {
		return err
	}
	ask := func(width int, args ...string) (string, error) {
		cmd := exec.Command(binary, args...)
		cmd.Env = append(os.Environ(), fmt.Sprintf("COLUMNS=%d", width))
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("airtide %s: %w", strings.Join(args, " "), err)
		}
		return string(out), nil
	}
	version, err := ask(listWidth, "--version")
	if err != nil {
		return err
	}
	version = strings.TrimSpace(strings.TrimPrefix(version, "airtide version "))
	var write func(words []string, short string) error
	write = func(words []string, short string) error {
		text, err := ask(pageWidth, append(words[1:], "--help")...)
		if err != nil {
			return err
		}
		wide, err := ask(listWidth, append(words[1:], "--help")...)
		if err != nil {
			return err
		}
		h := parseHelp(text)
		h.keepExamples(parseHelp(wide))
		name := strings.Join(words, "-") + ".1"
		page := h.page(strings.Join(words, " "), short, version)
		if err := os.WriteFile(filepath.Join(folder, name), []byte(page), 0o644); err != nil {
			return err
		}
		for _, verb := range h.verbs() {
			if err := write(append(words[:len(words):len(words)], verb.name), verb.short); err != nil {
				return err
			}
		}
		return nil
	}
	if err := write([]string{"airtide"}, ""); err != nil {
		return err
	}
	list, err := ask(listWidth, "help", "topics")
	if err != nil {
		return err
	}
	for line := range strings.Lines(list) {
		topic, short, _ := strings.Cut(strings.TrimSpace(line), " ")
		text, err := ask(pageWidth, "help", topic)
		if err != nil {
			return err
		}
		h := help{about: strings.TrimSpace(short) + "\n\n" + text}
		name := filepath.Join(folder, "airtide-"+topic+".7")
		page := strings.Replace(h.page("airtide "+topic, "", version), ` 1 ""`, ` 7 ""`, 1)
		if err := os.WriteFile(name, []byte(page), 0o644); err != nil {
			return err
		}
	}
	return nil
}
