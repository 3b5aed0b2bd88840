// Command kernels tries airtide on other kernels: it boots Debian's under qemu, for amd64 and for
// arm64, and runs in each the verbs as a user does and those of the packages' own tests that
// emulation can carry in time. What came of it is a table. What it takes of Debian's archive stays
// in the cache of package vm, and all else in a folder.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"airtide/internal/vm"
	"airtide/test/bench/benchtext"
)

type settings struct {
	out, page    string
	guests, rows *regexp.Regexp
	atOnce       int
	built        bool
	dryRun       bool
}

func main() {
	var s settings
	var guests, rows, paths string
	flag.StringVar(&s.out, "out", "kernels-out", "folder for programs and logs")
	flag.StringVar(&s.page, "page", "", "page whose table is written anew, such as docs/results/kernels.md; only "+
		"where all is tried")
	flag.StringVar(&guests, "guests", ".", "only guests that this matches, such as 6.12-arm64")
	flag.StringVar(&rows, "rows", ".", "only rows of the table that this matches, such as '^tune'")
	flag.BoolVar(&s.dryRun, "dry-run", false, "build the guests' programs and list the guests; fetch and boot nothing")
	flag.BoolVar(&s.built, "built", false, "take programs that an earlier run has built as they are")
	flag.IntVar(&s.atOnce, "at-once", runtime.NumCPU(), "guests at the same time")
	flag.StringVar(&paths, "paths", "", "for a guest such as 6.12-arm64 print where its kernel, its modules, its "+
		"headers and its busybox lie, and do nothing else; what is not there is fetched")
	flag.Parse()
	benchtext.Run("kernels", func(ctx context.Context) (err error) {
		if paths != "" {
			return printPaths(ctx, paths)
		}
		s.guests, err = regexp.Compile(guests)
		if err != nil {
			return fmt.Errorf("-guests: %w", err)
		}
		s.rows, err = regexp.Compile(rows)
		if err != nil {
			return fmt.Errorf("-rows: %w", err)
		}
		return run(ctx, s)
	})
}

func run(ctx context.Context, s settings) error {
	if s.atOnce < 1 || flag.NArg() > 0 {
		return errors.New("wrong flags: see -help")
	}
	var chosen []guest
	for _, g := range guests {
		if s.guests.MatchString(g.name()) {
			chosen = append(chosen, g)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no guest matches %s: there are %v", s.guests, guests)
	}
	whole := len(chosen) == len(guests) && s.rows.String() == "."
	if s.page != "" && !whole {
		return errors.New("-page is for the whole table, without -guests and -rows")
	}
	out, err := filepath.Abs(s.out)
	if err != nil {
		return err
	}
	s.out = out
	if s.dryRun {
		return prepare(ctx, s, chosen)
	}
	began := time.Now()
	results, err := try(ctx, s, chosen)
	if err != nil {
		return err
	}
	text := table(results) + tookText(began, time.Now(), results)
	fmt.Print("\n" + text)
	if s.page != "" {
		if err := writeTable(s.page, text); err != nil {
			return err
		}
	}
	return verdict(results)
}

// printPaths is for scripts that boot guests by themselves.
func printPaths(ctx context.Context, name string) error {
	i := slices.IndexFunc(guests, func(g guest) bool { return g.name() == name })
	if i < 0 {
		return fmt.Errorf("no guest is called %s: there are %v", name, guests)
	}
	k, busybox, err := guests[i].fetch(ctx)
	if err != nil {
		return err
	}
	headers, err := vm.FetchHeadersFor(ctx, guests[i].version, guests[i].architecture)
	if err != nil {
		return err
	}
	_, err = fmt.Println(k.Image, k.Modules, headers, busybox)
	return err
}

// prepare builds the programs and lists the guests.
func prepare(ctx context.Context, s settings, chosen []guest) error {
	if _, err := buildAll(ctx, s, chosen); err != nil {
		return err
	}
	for _, g := range chosen {
		fmt.Printf("%s: some %d minutes\n", g.name(), g.minutes)
	}
	return nil
}

// buildAll builds the programs of all chosen guests, by architecture.
func buildAll(ctx context.Context, s settings, chosen []guest) (map[string]programs, error) {
	built := map[string]programs{}
	for _, g := range chosen {
		if _, done := built[g.architecture]; done {
			continue
		}
		p, err := build(ctx, filepath.Join(s.out, g.architecture), g.architecture, s)
		if err != nil {
			return nil, err
		}
		built[g.architecture] = p
	}
	return built, nil
}

// try builds the guests' programs and runs the guests.
func try(ctx context.Context, s settings, chosen []guest) ([]*result, error) {
	results := make([]*result, len(chosen))
	for i, g := range chosen {
		results[i] = &result{guest: g}
	}
	built, err := buildAll(ctx, s, chosen)
	if err != nil {
		return nil, err
	}
	all, ctx := errgroup.WithContext(ctx)
	all.SetLimit(s.atOnce)
	// The longest first: begun last, they would keep one processor idle at the end.
	order := slices.Clone(results)
	slices.SortStableFunc(order, func(a, b *result) int { return b.guest.minutes - a.guest.minutes })
	for _, r := range order {
		all.Go(func() error {
			folder := filepath.Join(s.out, r.guest.name())
			if err := os.MkdirAll(folder, 0o755); err != nil {
				return err
			}
			r.err = r.try(ctx, folder, built[r.guest.architecture], s.rows)
			fmt.Fprintf(os.Stderr, "%s: %s\n", r.guest.name(), r.summary())
			return ctx.Err() // a kernel that fails does not keep the others from being tried
		})
	}
	return results, all.Wait()
}

// verdict is an error when a kernel fails that must not.
func verdict(results []*result) error {
	var failed []string
	for _, r := range results {
		if r.guest.required && r.failed() {
			failed = append(failed, r.guest.name())
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("failed on %v: the logs say more", failed)
	}
	return nil
}
