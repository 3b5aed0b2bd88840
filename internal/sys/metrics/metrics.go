// Package metrics publishes the metrics of a running verb: to Prometheus, which pulls them (Serve),
// and to an OTLP collector (Export).
package metrics

import (
	"context"
	"slices"
	"strings"
)

// Metric describes a metric.
type Metric struct {
	// Name is OpenTelemetry's, with dots. Prometheus gets it with underscores and a unit.
	Name string
	Unit string
	Help string
	// Labels are the names of the labels that distinguish the points.
	Labels  []string
	Counter bool
}

// Point is the value of a metric for values of its labels.
type Point struct {
	*Metric
	Of    []string // the values of Labels
	Value float64
}

// Label is a label that all points have.
type Label struct {
	Name  string
	Value string
}

// Set is a number of metrics and their source.
type Set struct {
	Metrics []*Metric
	// Gather returns the points and the labels that all points have. Several calls may run at the
	// same time.
	Gather func(ctx context.Context) ([]Point, []Label, error)
}

// prometheusUnits are the endings of names by unit (OpenTelemetry: Prometheus and OpenMetrics
// compatibility).
var prometheusUnits = map[string]string{"s": "_seconds", "By": "_bytes"}

// prometheusName is the name of a metric in Prometheus: it ends in the unit, and a counter in
// "_total".
func (m *Metric) prometheusName() string {
	name := prometheusLabel(m.Name)
	total := ""
	if m.Counter {
		total = "_total"
		name = strings.TrimSuffix(name, total)
	}
	if unit := prometheusUnits[m.Unit]; !strings.HasSuffix(name, unit) {
		name += unit
	}
	return name + total
}

// prometheusLabel is the name of a label in Prometheus.
func prometheusLabel(name string) string { return strings.ReplaceAll(name, ".", "_") }

// prometheusLabels are the names of the labels of a metric in Prometheus.
func (m *Metric) prometheusLabels() []string {
	names := slices.Clone(m.Labels)
	for i := range names {
		names[i] = prometheusLabel(names[i])
	}
	return names
}
