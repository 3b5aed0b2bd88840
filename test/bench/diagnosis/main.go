// The diagnosis command records situations with known causes and compares the verdicts of the
// diagnosis with them.
//
//	go run ./test/bench/diagnosis -record DIR              # record all situations
//	go run ./test/bench/diagnosis -record DIR -only nagle
//	go run ./test/bench/diagnosis -judge DIR                # print wrong verdicts and the rates
//	go run ./test/bench/diagnosis -judge DIR -page docs/results/diagnosis.md
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"

	"airtide/internal/sys/file"
	"airtide/test/cause"
)

type options struct {
	folder string
	only   string
	seeds  uint64
	judge  string
	page   string
	half   string
}

func main() {
	var o options
	flag.StringVar(&o.folder, "record", "", "folder of the recordings; existing ones stay")
	flag.StringVar(&o.only, "only", "", "only situations whose names match this expression")
	flag.Uint64Var(&o.seeds, "seeds", 12, "recordings of each situation")
	flag.StringVar(&o.judge, "judge", "", "folder of recordings to judge")
	flag.StringVar(&o.page, "page", "", "write the results here, of seeds that no threshold was set on")
	flag.StringVar(&o.half, "half", "odd", "seeds to print: odd (thresholds are set on these), even or all")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "diagnosis:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) error {
	if o.judge != "" {
		return runJudge(ctx, o)
	}
	return runRecord(ctx, o)
}

// runJudge prints or writes the results of a folder.
func runJudge(ctx context.Context, o *options) error {
	all, err := judge(ctx, o.judge, o.seeds)
	if err != nil {
		return err
	}
	if o.page != "" {
		return file.Write(o.page, []byte(page(all)), 0o644)
	}
	return printJudged(os.Stdout, all, o.half)
}

// runRecord makes the recordings that the folder lacks.
func runRecord(ctx context.Context, o *options) error {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(o.folder, 0o755); err != nil {
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
	for seed := uint64(1); seed <= o.seeds; seed++ {
		for _, s := range cause.Suite(seed) {
			path := filepath.Join(o.folder, fmt.Sprintf("%s-%d.atr", s.Name, seed))
			if _, err := os.Stat(path); err == nil || !only.MatchString(s.Name) {
				continue
			}
			if err := s.Record(ctx, programs, seed, path+".new"); err != nil {
				if ctx.Err() != nil {
					return err
				}
				fmt.Fprintf(os.Stderr, "%s: %v\n", s.Name, err)
				continue
			}
			for _, suffix := range []string{cause.PolledSuffix, ""} {
				if err := os.Rename(path+".new"+suffix, path+suffix); err != nil {
					return err
				}
			}
			fmt.Println(path)
		}
	}
	return nil
}
