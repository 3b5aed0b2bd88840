package metrics

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	collector1 "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	metrics1 "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/proto"

	"airtide/internal/share"
)

func example() share.Status {
	flow := netip.MustParseAddrPort("10.0.0.1:40000")
	return share.Status{
		Policy: "shares", Cell: "978b8745", Bounded: true, ShareBps: 107e6, TotalBps: 238e6, Limit: "airtime",
		QueueTargetUs: 8100, Correction: 1.02,
		Own: share.Terminal{
			State: "controlling", StandaloneBps: 505e6, UploadBps: 107e6, MinRTTUs: 1200, RTTUs: 20100, PHYBps: 866.7e6,
			BoundBps: 107e6,
		},
		Peers: []share.Terminal{
			{
				Address: "10.0.0.2", State: "observing", UploadBps: 11e6, DownloadBps: 1e6, DemandBps: 12e6,
				Retransmits: 17, Errors: [4]int64{5, 6, 7, 8},
			},
		},
		Windows: []share.Window{
			{Local: flow, Packets: 230}, {Local: flow, Packets: 20}, {Local: flow, ReceiveBytes: 65536},
		},
		Benefit: &share.Benefit{
			TotalWithBps: 238e6, TotalWithoutBps: 97e6, RTTWithUs: 30000, RTTWithoutUs: 636000, LowestRatio: 0.62,
			Helps: true,
		},
		Datagrams: map[string]int{"accepted": 1234, "wrong_key": 5},
	}
}

func running(_ context.Context, at func(share.Status)) error {
	at(example())
	return nil
}

var errStill = errors.New("it stands still")

func still(context.Context, func(share.Status)) error { return errStill }

func scrape(t *testing.T, s *Server) (int, string) {
	t.Helper()
	r, err := http.Get("http://" + s.Address().String() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(text)
}

func TestPrometheusScrapes(t *testing.T) {
	s, err := Serve("127.0.0.1:0", running)
	if err != nil {
		t.Fatal(err)
	}
	status, text := scrape(t, s)
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, text)
	}
	of := `cell="978b8745",policy="shares"`
	for _, want := range []string{
		`airtide_share_bounded{` + of + `} 1`, `airtide_share_peers{` + of + `} 1`,
		`airtide_share_share_bps{` + of + `} 1.07e+08`,
		`airtide_share_limit{cell="978b8745",limit="airtime",policy="shares"} 1`,
		`airtide_share_queue_target_seconds{` + of + `} 0.0081`,
		`airtide_share_bound_flows{` + of + `,window="congestion"} 2`, `airtide_share_cwnd_max_packets{` + of + `} 250`,
		`airtide_share_rwnd_max_bytes{` + of + `} 65536`,
		`airtide_share_terminal_standalone_bps{` + of + `,terminal="own"} 5.05e+08`,
		`airtide_share_terminal_upload_bps{` + of + `,terminal="10.0.0.2"} 1.1e+07`,
		`airtide_share_terminal_phy_bps{` + of + `,terminal="own"} 8.667e+08`,
		`airtide_share_terminal_bound_bps{` + of + `,terminal="own"} 1.07e+08`,
		`airtide_share_terminal_retransmits_total{` + of + `,terminal="10.0.0.2"} 17`,
		`airtide_share_terminal_timeouts_total{` + of + `,terminal="10.0.0.2"} 8`,
		`airtide_share_benefit_lowest_ratio{` + of + `} 0.62`,
		`airtide_share_terminal_rtt_seconds{` + of + `,terminal="own"} 0.0201`,
		`airtide_share_benefit_total_bps{bounds="with",` + of + `} 2.38e+08`,
		`airtide_share_benefit_rtt_seconds{bounds="without",` + of + `} 0.636`,
		`airtide_share_benefit_helps{` + of + `} 1`,
		`airtide_share_datagrams_total{` + of + `,reason="wrong_key"} 5`,
		"# TYPE airtide_share_datagrams_total counter", "process_cpu_seconds_total ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	for _, unknown := range []string{
		"wire", `terminal_standalone_bps{` + of + `,terminal="10.0.0.2"`,
		`terminal_phy_bps{` + of + `,terminal="10.0.0.2"`,
	} {
		if strings.Contains(text, "airtide_share_"+unknown) {
			t.Errorf("%s is there, and is not known", unknown)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := http.Get("http://" + s.Address().String() + "/metrics"); err == nil {
		t.Error("it answers after its end")
	}
}

func TestAScrapeOfAStalledAgentFails(t *testing.T) {
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

// collect starts a collector that hands on the received requests.
func collect(t *testing.T) (url string, told <-chan *collector1.ExportMetricsServiceRequest) {
	t.Helper()
	out := make(chan *collector1.ExportMetricsServiceRequest, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		request := &collector1.ExportMetricsServiceRequest{}
		if err == nil {
			err = proto.Unmarshal(body, request)
		}
		if err != nil || r.URL.Path != defaultPath || r.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%s %s: %v", r.URL, r.Header, err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		answer, _ := proto.Marshal(&collector1.ExportMetricsServiceResponse{})
		w.Header().Set("Content-Type", "application/x-protobuf")
		_, _ = w.Write(answer)
		out <- request
	}))
	t.Cleanup(server.Close)
	return server.URL, out
}

func TestACollectorGetsMetricsByOTLP(t *testing.T) {
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "20")
	url, told := collect(t)
	e, err := Export(url, "1.2.3", running, func(line string) { t.Error(line) })
	if err != nil {
		t.Fatal(err)
	}
	request := <-told
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	who := map[string]string{}
	for _, a := range request.ResourceMetrics[0].Resource.Attributes {
		who[a.Key] = a.Value.GetStringValue()
	}
	if who["service.name"] != "airtide-share" || who["service.version"] != "1.2.3" || who["host.name"] == "" {
		t.Errorf("it tells of %v", who)
	}
	values := map[string]float64{}
	for _, m := range request.ResourceMetrics[0].ScopeMetrics[0].Metrics {
		var points []*metrics1.NumberDataPoint
		if sum := m.GetSum(); sum != nil && sum.IsMonotonic {
			points = sum.DataPoints
		} else {
			points = m.GetGauge().GetDataPoints()
		}
		for _, p := range points {
			name := m.Name
			for _, a := range p.Attributes {
				if a.Key != "cell" && a.Key != "policy" {
					name += " " + a.Value.GetStringValue()
				} else if v := a.Value.GetStringValue(); v != "978b8745" && v != "shares" {
					t.Errorf("%s of %s %s", m.Name, a.Key, v)
				}
			}
			values[name] = p.GetAsDouble()
		}
	}
	for name, want := range map[string]float64{
		"airtide.share.bounded": 1, "airtide.share.share_bps": 107e6,
		"airtide.share.terminal_upload_bps 10.0.0.2": 11e6,
		"airtide.share.terminal_standalone_bps own":  505e6, "airtide.share.datagrams_total accepted": 1234,
		"airtide.share.limit airtime":        1,
		"airtide.share.queue_target_seconds": 0.0081, "airtide.share.bound_flows receive": 1,
		"airtide.share.benefit_total_bps without": 97e6,
	} {
		if values[name] != want {
			t.Errorf("%s is %g, want %g; all: %v", name, values[name], want, values)
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
	e, err := Export(server.URL, "1.2.3", running, func(line string) { lines <- line })
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

func TestAStalledAgentIsReported(t *testing.T) {
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "20")
	url, _ := collect(t)
	lines := make(chan string, 100)
	e, err := Export(url, "1.2.3", still, func(line string) { lines <- line })
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
