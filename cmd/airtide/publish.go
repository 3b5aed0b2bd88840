package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"airtide/internal/diagnose"
	"airtide/internal/observe/source"
	"airtide/internal/sys/metrics"
	"airtide/internal/tcp"
	viewmetrics "airtide/internal/view/metrics"
	"airtide/internal/view/terminal"
)

// publishFlags are the flags of the metrics of monitor.
type publishFlags struct{ address, collector string }

func (p *publishFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&p.address, "metrics", "",
		"serve Prometheus metrics at http://ADDRESS/metrics; ADDRESS such as localhost:9478")
	fl.StringVar(&p.collector, "otlp", "",
		"send metrics to the OpenTelemetry collector at this URL, such as http://collector:4318")
}

func (p *publishFlags) wanted() bool { return p.address != "" || p.collector != "" }

// check returns an error for flags that cannot work.
func (p *publishFlags) check(replay bool) error {
	if p.wanted() && replay {
		return usageError{errors.New("--metrics and --otlp are for live connections: leave out the recording")}
	}
	if p.collector == "" {
		return nil
	}
	if err := metrics.Check(p.collector); err != nil {
		return usageError{fmt.Errorf("--otlp %w", err)}
	}
	return nil
}

// start publishes metrics of the sinks that it returns, until end. Without a flag there are none.
func (p *publishFlags) start(t *terminal.Terminal, src *source.Opened) (sinks tcp.Tee, end func() error, err error) {
	var ends []func() error
	end = func() error {
		var err error
		for _, e := range ends {
			err = errors.Join(err, e())
		}
		return err
	}
	if !p.wanted() {
		return nil, end, nil
	}
	observer := viewmetrics.New(diagnose.SourceOf(string(src.Kind)))
	if p.address != "" {
		server, err := metrics.Serve(p.address, observer.Set())
		if err != nil {
			return nil, nil, err
		}
		ends = append(ends, server.Close)
	}
	if p.collector != "" {
		notice := func(line string) { t.Warnf("%s", line) }
		exporter, err := metrics.Export(p.collector, "airtide-monitor", version(), observer.Set(), notice)
		if err != nil {
			return nil, nil, errors.Join(err, end())
		}
		ends = append(ends, exporter.Close)
	}
	return tcp.Tee{observer}, end, nil
}
