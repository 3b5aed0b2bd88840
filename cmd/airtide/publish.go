package main

import (
	"errors"
	"fmt"
	"io"

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
	return checkCollector(p.collector)
}

// checkCollector returns an error for a URL of --otlp that no collector can have. Empty is none.
func checkCollector(url string) error {
	if url == "" {
		return nil
	}
	if err := metrics.Check(url); err != nil {
		return usageError{fmt.Errorf("--otlp %w", err)}
	}
	return nil
}

// start publishes metrics of the sinks that it returns, until end. Without a flag there are none.
func (p *publishFlags) start(t *terminal.Terminal, src *source.Opened) (sinks tcp.Tee, end func() error, err error) {
	if !p.wanted() {
		return nil, func() error { return nil }, nil
	}
	observer := viewmetrics.New(diagnose.SourceOf(string(src.Kind)))
	notice := func(line string) { t.Warnf("%s", line) }
	end, err = publish(p.address, p.collector, "airtide-monitor", observer.Set(), notice)
	return tcp.Tee{observer}, end, err
}

// publish serves metrics at an address and sends them to a collector until end. An empty one is
// left out. service names the sender.
func publish(address, collector, service string, set *metrics.Set, notice func(string)) (end func() error, err error) {
	var open []io.Closer
	end = func() error {
		var err error
		for _, o := range open {
			err = errors.Join(err, o.Close())
		}
		return err
	}
	if address != "" {
		server, err := metrics.Serve(address, set)
		if err != nil {
			return nil, err
		}
		open = append(open, server)
	}
	if collector != "" {
		exporter, err := metrics.Export(collector, service, version(), set, notice)
		if err != nil {
			return nil, errors.Join(err, end())
		}
		open = append(open, exporter)
	}
	return end, nil
}
