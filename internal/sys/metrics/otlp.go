package metrics

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/metric"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
)

// Exporter sends metrics to a collector.
type Exporter struct {
	provider *sdk.MeterProvider
	closing  atomic.Bool // the source has ended: there is nothing to gather
}

// defaultPath is the path for metrics at collectors (OTLP specification, OTLP/HTTP request).
const defaultPath = "/v1/metrics"

// parseCollector reads a collector's URL. Without a path it is the usual one.
func parseCollector(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("%q is no address of a collector: want a URL such as http://collector:4318", text)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = defaultPath
	}
	return u.String(), nil
}

// Check returns an error for a URL that no collector can have.
func Check(collector string) error {
	_, err := parseCollector(collector)
	return err
}

// Export sends metrics to a collector by OTLP over HTTP with protobuf until Close. service and
// version name the sender. The default interval is one minute. OpenTelemetry's environment
// variables set the interval (OTEL_METRIC_EXPORT_INTERVAL in milliseconds), headers, certificates
// and time limits. notice is called with an error once until the error changes.
func Export(collector, service, version string, set *Set, notice func(string)) (*Exporter, error) {
	at, err := parseCollector(collector)
	if err != nil {
		return nil, err
	}
	out, err := otlpmetrichttp.New(context.Background(), otlpmetrichttp.WithEndpointURL(at))
	if err != nil {
		return nil, fmt.Errorf("exporting metrics to %s: %w", collector, err)
	}
	e := &Exporter{}
	last := ""
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		if text := err.Error(); text != last && !e.closing.Load() { // a closing exporter gives up its requests
			last = text
			notice("exporting metrics: " + text)
		}
	}))
	process, err := resource.New(context.Background(), resource.WithFromEnv(), resource.WithHost(),
		resource.WithTelemetrySDK(), resource.WithAttributes(
			attribute.String("service.name", service), attribute.String("service.version", version)))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("exporting metrics: %w", err), out.Shutdown(context.Background()))
	}
	e.provider = sdk.NewMeterProvider(sdk.WithResource(process), sdk.WithReader(sdk.NewPeriodicReader(out)))
	if err := e.observe(e.provider.Meter("airtide"), set); err != nil {
		return nil, errors.Join(fmt.Errorf("exporting metrics: %w", err), e.Close())
	}
	return e, nil
}

// observe makes the instruments, and has them read together.
func (e *Exporter) observe(meter metric.Meter, set *Set) error {
	instruments := map[*Metric]metric.Float64Observable{}
	var all []metric.Observable
	for _, m := range set.Metrics {
		var one metric.Float64Observable
		var err error
		if m.Counter {
			one, err = meter.Float64ObservableCounter(m.Name, metric.WithUnit(m.Unit), metric.WithDescription(m.Help))
		} else {
			one, err = meter.Float64ObservableGauge(m.Name, metric.WithUnit(m.Unit), metric.WithDescription(m.Help))
		}
		if err != nil {
			return err
		}
		instruments[m] = one
		all = append(all, one)
	}
	_, err := meter.RegisterCallback(func(ctx context.Context, o metric.Observer) error {
		if e.closing.Load() {
			return nil
		}
		points, labels, err := set.Gather(ctx)
		if err != nil {
			return err
		}
		for _, p := range points {
			attributes := make([]attribute.KeyValue, 0, len(labels)+len(p.Of))
			for _, l := range labels {
				attributes = append(attributes, attribute.String(l.Name, l.Value))
			}
			for i, value := range p.Of {
				attributes = append(attributes, attribute.String(p.Labels[i], value))
			}
			o.ObserveFloat64(instruments[p.Metric], p.Value, metric.WithAttributes(attributes...))
		}
		return nil
	}, all...)
	return err
}

// closePatience is the longest time for that.
const closePatience = 2 * time.Second

// Close waits up to two seconds for pending metrics. The source may have ended before.
func (e *Exporter) Close() error {
	e.closing.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	if err := e.provider.Shutdown(ctx); err != nil {
		return fmt.Errorf("ending the export of metrics: %w", err)
	}
	return nil
}
