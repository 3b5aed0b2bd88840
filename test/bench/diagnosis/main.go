// The diagnosis command records situations with known causes and compares the verdicts of the
// diagnosis with them.
//
//	go run ./test/bench/diagnosis -record DIR -write        # write situations as YAML files
//	go run ./test/bench/diagnosis -record DIR -jobs 4       # record those of the folder
//	go run ./test/bench/diagnosis -record DIR -only nagle
//	go run ./test/bench/diagnosis -judge DIR                # print wrong verdicts and the rates
//	go run ./test/bench/diagnosis -speed DIR                # measure speeds for the page
//	go run ./test/bench/diagnosis -judge DIR -page docs/results/diagnosis.md
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"

	"golang.org/x/sync/errgroup"

	"airtide/internal/sys/file"
	"airtide/test/cause"
)

type options struct {
	folder string
	only   string
	first  uint64
	seeds  uint64
	write  bool
	jobs   int
	judge  string
	page   string
	fresh  bool
	speed  string
}

func main() {
	var o options
	flag.StringVar(&o.folder, "record", "", "folder of situations and recordings; existing recordings stay")
	flag.StringVar(&o.only, "only", "", "only situations whose names match this expression")
	flag.BoolVar(&o.write, "write", false, "write the situations of the seeds into the folder before recording")
	flag.Uint64Var(&o.first, "first", 1, "first seed to write")
	flag.Uint64Var(&o.seeds, "seeds", 8, "number of seeds to write")
	flag.IntVar(&o.jobs, "jobs", 1, "situations that run at a time")
	flag.StringVar(&o.judge, "judge", "", "folder of recordings to judge")
	flag.StringVar(&o.page, "page", "", "write the results here, of seeds that no threshold was set on")
	flag.BoolVar(&o.fresh, "fresh", false, "print fresh seeds, too; then they are no test of later thresholds")
	flag.StringVar(&o.speed, "speed", "", "measure speeds, and keep them in this folder for its page; needs root")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "diagnosis:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) error {
	switch {
	case o.speed != "":
		return speed(ctx, o.speed)
	case o.judge != "":
		return runJudge(ctx, o)
	}
	return runRecord(ctx, o)
}

// runJudge prints or writes the results of a folder.
func runJudge(ctx context.Context, o *options) error {
	all, err := judge(ctx, o.judge, o.only, o.page != "" || o.fresh)
	if err != nil {
		return err
	}
	if o.page != "" {
		speeds, err := os.ReadFile(filepath.Join(o.judge, speedFile))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return file.Write(o.page, []byte(page(all, string(speeds))), 0o644)
	}
	return printJudged(os.Stdout, all)
}

// runRecord writes the situations and makes the recordings that the folder lacks.
func runRecord(ctx context.Context, o *options) error {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.folder, 0o755); err != nil {
		return err
	}
	if o.write {
		for seed := o.first; seed < o.first+o.seeds; seed++ {
			for _, s := range cause.Suite(seed) {
				if !only.MatchString(s.Name) {
					continue
				}
				if err := s.Write(o.folder); err != nil {
					return err
				}
			}
		}
		return nil
	}
	situations, err := cause.Read(o.folder)
	if err != nil {
		return err
	}
	tools, err := os.MkdirTemp("", "airtide-diagnosis-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tools)
	programs, err := cause.Build(ctx, tools)
	if err != nil {
		return err
	}
	var jobs errgroup.Group
	jobs.SetLimit(o.jobs)
	for i := range situations {
		s := &situations[i]
		path := filepath.Join(o.folder, s.File()+".atr")
		if _, err := os.Stat(path); err == nil || !only.MatchString(s.Name) || ctx.Err() != nil {
			continue
		}
		jobs.Go(func() error { return record(ctx, s, programs, path) })
	}
	return errors.Join(jobs.Wait(), ctx.Err())
}

// record records a situation. One that does not work is reported and passed over.
func record(ctx context.Context, s *cause.Situation, programs cause.Programs, path string) error {
	fresh := path + ".new"
	if err := s.Record(ctx, programs, fresh); err != nil {
		if ctx.Err() == nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", s.File(), err)
		}
		for _, suffix := range cause.Suffixes() {
			_ = os.Remove(fresh + suffix)
		}
		return nil
	}
	for _, suffix := range cause.Suffixes() {
		if err := os.Rename(fresh+suffix, path+suffix); err != nil {
			return err
		}
	}
	fmt.Println(path)
	return nil
}
