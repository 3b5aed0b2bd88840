package main

import (
	"bytes"
	"embed"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/tcp"
	"airtide/internal/units"
	"airtide/internal/view/terminal"
)

// A topic is a help text about something that several verbs share.
type topic struct {
	name, short string
	print       func(*terminal.Terminal) error
}

var topics = []topic{
	{"fields", "the values of a sample: name, unit, meaning, source in the kernel", printFields},
	{"events", "the kinds of events, causes of retransmissions, reasons of closes", printEvents},
	{"filters", "the flags that select connections and samples", printFilters},
	{"units", "rates, sizes, durations and shares in flags and files", printUnits},
	{"exit-codes", "the exit statuses of all verbs", printStatuses},
	{"security", "what needs root, which files are secret, what undoes each change", printText("security")},
	{"services", "the sharing agent and its hub as services: key, addresses, start, stop", printText("services")},
}

// topicTexts are the topics that no table of the program describes.
//
//go:embed topics
var topicTexts embed.FS

// printText prints a topic of topicTexts.
func printText(name string) func(*terminal.Terminal) error {
	return func(t *terminal.Terminal) error {
		text, err := topicTexts.ReadFile("topics/" + name + ".txt")
		if err != nil {
			return err
		}
		return t.Print([]byte(terminal.WrapHelp(string(text), t.Width)))
	}
}

// helpFunc prints the help of a verb, broken between words to fit the terminal.
func helpFunc(t *terminal.Terminal, print func(*cobra.Command, []string)) func(*cobra.Command, []string) {
	return func(cmd *cobra.Command, args []string) {
		var text bytes.Buffer
		out := cmd.OutOrStdout()
		cmd.SetOut(&text)
		print(cmd, args)
		cmd.SetOut(out)
		_, _ = io.WriteString(out, terminal.WrapHelp(text.String(), t.Width)) // out keeps the error
	}
}

func newHelp(t *terminal.Terminal) *cobra.Command {
	return &cobra.Command{
		Use:   "help [VERB | TOPIC]",
		Short: "Show the help of a verb or a topic",
		Long:  "Shows the help of a verb or a topic. The topics:\n\n" + topicList("  "),
		Example: `  airtide help lab run
  airtide help fields
  airtide help topics`,
		ValidArgsFunction: completeHelp,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if args[0] == "topics" {
					return t.PrintWrapped(topicList(""), topicIndent)
				}
				if i := slices.IndexFunc(topics, func(p topic) bool { return p.name == args[0] }); i >= 0 {
					return topics[i].print(t)
				}
			}
			verb, rest, err := cmd.Root().Find(args)
			if err != nil {
				return usageError{err}
			}
			if len(rest) > 0 && verb == cmd.Root() {
				return unknownTopic(verb, rest[0])
			}
			if len(rest) > 0 {
				return unknownVerb(verb, rest)
			}
			return verb.Help()
		},
	}
}

// unknownTopic refuses a word that is neither a verb nor a topic.
func unknownTopic(root *cobra.Command, word string) error {
	names := append(topicNames(), verbNames(root)...)
	return usageError{fmt.Errorf("unknown verb or topic %q%s", word, suggestion("", word, names))}
}

func topicNames() []string {
	names := []string{"topics"}
	for _, p := range topics {
		names = append(names, p.name)
	}
	return names
}

func completeHelp(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	verb, rest, err := cmd.Root().Find(args)
	if err != nil || len(rest) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := verbNames(verb)
	if verb == cmd.Root() {
		names = append(names, topicNames()...)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// topicIndent is the indent of a topic's continued lines.
const topicIndent = 12

func topicList(indent string) string {
	var b strings.Builder
	for _, p := range topics {
		fmt.Fprintf(&b, "%s%-*s%s\n", indent, topicIndent, p.name, p.short)
	}
	return b.String()
}

func printFields(t *terminal.Terminal) error {
	for f := range tcp.Field(tcp.NumFields) {
		info := f.Info()
		source := info.Source
		if f.Computed() {
			source = "computed: " + source
		}
		text := fmt.Sprintf("%s (%s)\n    %s\n    %s\n", info.Name, kindAndUnit(info), info.Doc, source)
		if err := t.PrintWrapped(text, 4); err != nil {
			return err
		}
	}
	return nil
}

func kindAndUnit(info tcp.FieldInfo) string {
	if info.Unit == "" {
		return info.Kind.String()
	}
	return info.Kind.String() + ", " + info.Unit
}

func printEvents(t *terminal.Terminal) error {
	kinds := slices.Clone(tcp.EventKinds())
	for i, word := range kinds {
		kind, err := tcp.ParseEventKind(word.Name)
		if err != nil {
			return err
		}
		if code := kind.Code(); code != tcp.CodeNone {
			kinds[i].Doc += fmt.Sprintf(" (code %d)", code)
		}
	}
	const codes = "Codes are those of Matsuno et al. 2021, table 2: 1 reordering, 2 local congestion,\n" +
		"3 duplicate ACK, 4 timeout."
	return printSections(t,
		section{"", kinds},
		section{codes, nil},
		section{"Causes of a retransmission:", tcp.Causes()},
		section{"Reasons of a close, of an undo and of a refused retransmission:", tcp.Reasons()},
	)
}

func printFilters(t *terminal.Terminal) error {
	var selection selectionFlags
	cmd := &cobra.Command{}
	fl := cmd.Flags()
	selection.register(cmd, "flows")
	fl.SortFlags = false
	var flags []tcp.Word
	fl.VisitAll(func(f *pflag.Flag) { flags = append(flags, tcp.Word{Name: "--" + f.Name, Doc: f.Usage}) })
	const rules = "Of each flag that is given, one value must match, and every flag that is given must match.\n" +
		"The kernel evaluates filters once per flow."
	return printSections(t,
		section{"monitor, record, info, diagnose and tune select connections by these flags:", flags},
		section{rules, nil},
		section{"--density: a segment becomes a sample if", filter.Densities()},
		section{"Events come at every density.", nil},
	)
}

func printUnits(t *terminal.Terminal) error {
	var words []tcp.Word
	for _, g := range units.Grammars() {
		words = append(words, tcp.Word{Name: g.Quantity, Doc: strings.Join(g.Units, ", ") + "; such as " + g.Examples})
	}
	const rules = "Spaces between number and unit are allowed. Zero needs no unit. A share without % is a\n" +
		"number from 0 to 1. Prefixes are decimal: 1 kB is 1000 B; KiB, MiB and GiB are powers of 1024.\n" +
		"Some flags also take a bare number: durations, such as --duration 5, in seconds; tune\n" +
		"--pacing-rate in bit/s; the buffers of tune in bytes, where k, M and G are powers of 1024."
	return printSections(t, section{"", words}, section{rules, nil})
}

func printStatuses(t *terminal.Terminal) error {
	var all, besides []tcp.Word
	for _, s := range statusTable {
		all = append(all, tcp.Word{Name: strconv.Itoa(s.status), Doc: s.meaning})
	}
	for _, s := range statusOf {
		for verb := range strings.SplitSeq(s.verb, ", ") {
			besides = append(besides, tcp.Word{Name: verb, Doc: s.meaning})
		}
	}
	return printSections(t, section{"", all}, section{"Besides:", besides})
}

// A section is a text and a list of words below it.
type section struct {
	text  string
	words []tcp.Word
}

// printSections prints sections with an empty line between them. Names of a section stand in one
// column.
func printSections(t *terminal.Terminal, sections ...section) error {
	var b strings.Builder
	for i, s := range sections {
		longest := 0
		for _, w := range s.words {
			longest = max(longest, len(w.Name))
		}
		if i > 0 {
			b.WriteString("\n")
		}
		if s.text != "" {
			b.WriteString(s.text + "\n")
		}
		for _, w := range s.words {
			fmt.Fprintf(&b, "  %-*s  %s\n", longest, w.Name, w.Doc)
		}
	}
	return t.Print([]byte(terminal.WrapHelp(b.String(), t.Width)))
}
