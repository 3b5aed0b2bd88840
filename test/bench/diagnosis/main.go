// The diagnosis command records situations with known causes and compares the verdicts of the
// diagnosis with them.
//
//	go run ./test/bench/diagnosis -record DIR              # record all situations
//	go run ./test/bench/diagnosis -record DIR -only nagle
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"

	"airtide/test/cause"
)

type options struct {
	folder string
	only   string
	seeds  uint64
}

func main() {
	var o options
	flag.StringVar(&o.folder, "record", "", "folder of the recordings; existing ones stay")
	flag.StringVar(&o.only, "only", "", "only situations whose names match this expression")
	flag.Uint64Var(&o.seeds, "seeds", 1, "recordings of each situation")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, &o); err != nil {
		fmt.Fprintln(os.Stderr, "diagnosis:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o *options) error {
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
		for i := range cause.First {
			s := &cause.First[i]
			path := filepath.Join(o.folder, fmt.Sprintf("%s-%d.atr", s.Name, seed))
			if _, err := os.Stat(path); err == nil || !only.MatchString(s.Name) {
				continue
			}
			if err := s.Record(ctx, programs, seed, path+".new"); err != nil {
				return fmt.Errorf("%s: %w", s.Name, err)
			}
			if err := os.Rename(path+".new", path); err != nil {
				return err
			}
			fmt.Println(path)
		}
	}
	return nil
}
