package metrics

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"airtide/test/collector"
)

var (
	level = &Metric{Name: "airtide.test.level_bps", Unit: "bit/s", Help: "A level.", Labels: []string{"net.peer"}}
	delay = &Metric{Name: "airtide.test.delay", Unit: "s", Help: "A delay."}
	count = &Metric{Name: "airtide.test.io", Unit: "By", Help: "A counter.", Counter: true}
)

func set(err error) *Set {
	return &Set{Metrics: []*Metric{level, delay, count}, Gather: func(context.Context) ([]Point, []Label, error) {
		return []Point{{level, []string{"a \"b\"\n"}, 5}, {delay, nil, 0.25}, {count, nil, 7}},
			[]Label{{"a.cell", "c"}}, err
	}}
}

var (
	running  = set(nil)
	errStill = errors.New("it stands still")
	still    = set(errStill)
)

func scrape(t *testing.T, s *Server) (int, string) {
	t.Helper()
	return collector.Scrape(t, s.Address().String())
}

func TestPrometheusReadsThePoints(t *testing.T) {
	s, err := Serve("127.0.0.1:0", running)
	if err != nil {
		t.Fatal(err)
	}
	status, text := scrape(t, s)
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, text)
	}
	values := collector.Parse(t, text)
	for name, want := range map[string]float64{
		`airtide_test_level_bps{a_cell="c",net_peer="a \"b\"\n"}`: 5,
		`airtide_test_delay_seconds{a_cell="c"}`:                  0.25,
		`airtide_test_io_bytes_total{a_cell="c"}`:                 7,
	} {
		if got, ok := values[name]; !ok || got != want {
			t.Errorf("%s is %g (%t), want %g", name, got, ok, want)
		}
	}
	typed := strings.Contains(text, "# TYPE airtide_test_io_bytes_total counter")
	if !typed || values["process_cpu_seconds_total{}"] <= 0 {
		t.Errorf("the page lacks a type or the process:\n%s", text)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := http.Get("http://" + s.Address().String() + "/metrics"); err == nil {
		t.Error("it answers after its end")
	}
}

func TestAScrapeOfAStalledSourceFails(t *testing.T) {
	s, err := Serve("127.0.0.1:0", still)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	status, text := scrape(t, s)
	if status != http.StatusInternalServerError || !strings.Contains(text, errStill.Error()) {
		t.Errorf("status %d: %s", status, text)
	}
	if _, err := Serve(s.Address().String(), still); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("an address in use: %v", err)
	}
}

func TestACollectorGetsThePointsByOTLP(t *testing.T) {
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "20")
	url, received := collector.Collect(t)
	e, err := Export(url, "airtide-test", "1.2.3", running, func(line string) { t.Error(line) })
	if err != nil {
		t.Fatal(err)
	}
	request := <-received
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	who := collector.Resource(request)
	if who["service.name"] != "airtide-test" || who["service.version"] != "1.2.3" || who["host.name"] == "" {
		t.Errorf("it tells of %v", who)
	}
	values := collector.Points(request)
	for name, want := range map[string]float64{
		`airtide.test.level_bps{a.cell="c",net.peer="a \"b\"\n"}`: 5,
		`airtide.test.delay{a.cell="c"}`:                          0.25,
		`airtide.test.io{a.cell="c"}`:                             7,
	} {
		if got, ok := values[name]; !ok || got != want {
			t.Errorf("%s is %g (%t), want %g", name, got, ok, want)
		}
	}
}

func TestARefusalOfACollectorIsReportedOnce(t *testing.T) {
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "20")
	asked := make(chan struct{}, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		asked <- struct{}{}
	}))
	defer server.Close()
	lines := make(chan string, 100)
	e, err := Export(server.URL, "airtide-test", "1.2.3", running, func(line string) { lines <- line })
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		<-asked
	}
	if line := <-lines; !strings.Contains(line, "403") {
		t.Errorf("told %q", line)
	}
	_ = e.Close()
	if len(lines) > 0 {
		t.Errorf("told again: %s", <-lines)
	}
}

func TestAStalledSourceIsReported(t *testing.T) {
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "20")
	url, _ := collector.Collect(t)
	lines := make(chan string, 100)
	e, err := Export(url, "airtide-test", "1.2.3", still, func(line string) { lines <- line })
	if err != nil {
		t.Fatal(err)
	}
	select {
	case line := <-lines:
		if !strings.Contains(line, errStill.Error()) {
			t.Errorf("told %q", line)
		}
	case <-time.After(time.Minute):
		t.Error("told nothing")
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

func TestCollectorsURL(t *testing.T) {
	for text, want := range map[string]string{
		"http://collector:4318":     "http://collector:4318/v1/metrics",
		"https://[::1]:4318/":       "https://[::1]:4318/v1/metrics",
		"http://collector/own/path": "http://collector/own/path",
	} {
		if got, err := parseCollector(text); err != nil || got != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "collector:4318", "ftp://collector", "http://", "://", "http://[::1"} {
		if got, err := parseCollector(text); err == nil {
			t.Errorf("%q is taken as %s", text, got)
		}
	}
}
