package metrics

import (
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"airtide/internal/share"
	"airtide/internal/sys/metrics"
	"airtide/test/collector"
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

func TestPrometheusScrapes(t *testing.T) {
	s, err := metrics.Serve("127.0.0.1:0", Set(running))
	if err != nil {
		t.Fatal(err)
	}
	status, text := collector.Scrape(t, s.Address().String())
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

func TestACollectorGetsMetricsByOTLP(t *testing.T) {
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "20")
	url, received := collector.Collect(t)
	e, err := metrics.Export(url, "airtide-share", "1.2.3", Set(running), func(line string) { t.Error(line) })
	if err != nil {
		t.Fatal(err)
	}
	request := <-received
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	values := collector.Points(request)
	for name, want := range map[string]float64{
		`bounded{*}`: 1, `share_bps{*}`: 107e6, `terminal_upload_bps{*,terminal="10.0.0.2"}`: 11e6,
		`terminal_standalone_bps{*,terminal="own"}`: 505e6, `datagrams_total{*,reason="accepted"}`: 1234,
		`bound_flows{*,window="receive"}`: 1, `queue_target_seconds{*}`: 0.0081,
	} {
		name = "airtide.share." + strings.ReplaceAll(name, "*", `cell="978b8745",policy="shares"`)
		if values[name] != want {
			t.Errorf("%s is %g, want %g; all: %v", name, values[name], want, values)
		}
	}
}

var errStill = errors.New("it stands still")

func TestAStalledAgentIsAnError(t *testing.T) {
	still := func(context.Context, func(share.Status)) error { return errStill }
	if _, _, err := Set(still).Gather(t.Context()); !errors.Is(err, errStill) {
		t.Errorf("error %v", err)
	}
}
