// Package collector receives metrics in tests as Prometheus and an OTLP collector do: with the
// official parsers of both.
package collector

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	client "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	collector1 "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	common1 "go.opentelemetry.io/proto/otlp/common/v1"
	metrics1 "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"
)

// Values are the values of metrics. A key is a name and, in braces, the labels in their order:
// name{a="1",b="2"}.
type Values map[string]float64

// Scrape gets the page of metrics at an address such as "127.0.0.1:9478".
func Scrape(t *testing.T, address string) (status int, text string) {
	t.Helper()
	r, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	page, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(page)
}

// Parse reads Prometheus's text format.
func Parse(t *testing.T, text string) Values {
	t.Helper()
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader([]byte(text)))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	values := Values{}
	for name, f := range families {
		for _, m := range f.Metric {
			labels := map[string]string{}
			for _, l := range m.Label {
				labels[l.GetName()] = l.GetValue()
			}
			values[key(name, labels)] = prometheusValue(f.GetType(), m)
		}
	}
	return values
}

func prometheusValue(kind client.MetricType, m *client.Metric) float64 {
	if kind == client.MetricType_COUNTER {
		return m.Counter.GetValue()
	}
	return m.GetGauge().GetValue()
}

func key(name string, labels map[string]string) string {
	var list []string
	for k, v := range labels {
		list = append(list, fmt.Sprintf("%s=%q", k, v))
	}
	slices.Sort(list)
	return name + "{" + strings.Join(list, ",") + "}"
}

// Collect starts an OTLP collector and returns its URL, and the requests that it receives.
func Collect(t *testing.T) (url string, received <-chan *collector1.ExportMetricsServiceRequest) {
	t.Helper()
	out := make(chan *collector1.ExportMetricsServiceRequest, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		request := &collector1.ExportMetricsServiceRequest{}
		if err == nil {
			err = proto.Unmarshal(body, request)
		}
		if err != nil || r.URL.Path != "/v1/metrics" || r.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s %s: %v", r.URL, r.Header, err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		answer, _ := proto.Marshal(&collector1.ExportMetricsServiceResponse{})
		w.Header().Set("Content-Type", "application/x-protobuf")
		_, _ = w.Write(answer)
		// The sender's time runs before its instruments are there: a first request may be empty.
		if len(request.ResourceMetrics) > 0 && len(request.ResourceMetrics[0].ScopeMetrics) > 0 {
			out <- request
		}
	}))
	t.Cleanup(server.Close)
	return server.URL, out
}

// Resource returns the attributes of the sender of a request.
func Resource(request *collector1.ExportMetricsServiceRequest) map[string]string {
	return attributes(request.ResourceMetrics[0].Resource.Attributes)
}

// Points returns the values of a request.
func Points(request *collector1.ExportMetricsServiceRequest) Values {
	values := Values{}
	for _, m := range request.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		var points []*metrics1.NumberDataPoint
		if sum := m.GetSum(); sum != nil && sum.IsMonotonic {
			points = sum.DataPoints
		} else {
			points = m.GetGauge().GetDataPoints()
		}
		for _, p := range points {
			values[key(m.Name, attributes(p.Attributes))] = p.GetAsDouble()
		}
	}
	return values
}

func attributes(list []*common1.KeyValue) map[string]string {
	all := map[string]string{}
	for _, a := range list {
		all[a.Key] = a.Value.GetStringValue()
	}
	return all
}
