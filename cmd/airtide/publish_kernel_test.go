//go:build kernel

package main

import (
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"airtide/test/collector"
	"airtide/test/need"
	"airtide/test/testnet"
)

// monitor serves Prometheus and sends to a collector, in a pipe without a table. The values are
// those of the traffic: its bytes, and a loss that fast retransmit repairs.
func TestMonitorPublishesMetrics(t *testing.T) {
	need.Root(t)
	t.Setenv("OTEL_METRIC_EXPORT_INTERVAL", "100")
	n := testnet.New(t, testnet.Options{Segments: true})
	url, received := collector.Collect(t)
	const address = "127.0.0.1:9479"
	netns := fmt.Sprint(n.Client.NetNS)
	cmd := airtide("monitor", "--netns", netns, "--metrics", address, "--otlp", url)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errOut strings.Builder
	cmd.Stderr = &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	<-received // it is attached and sends
	client, server := n.Connect(testnet.Dial{})
	n.Client.Out.DropData(20, 1)
	const sent = 1 << 20
	testnet.MustSend(t, client, server, sent)
	peer := netip.PrefixFrom(n.Server.V4, 24).Masked().String()
	const retransmits, moved = "system.network.tcp.retransmits", "airtide.tcp.io"
	fast := fmt.Sprintf(`{network.tcp.retransmit.type="fast",peer=%q,process=%q}`, peer, comm(t))
	transmit := fmt.Sprintf(`{network.io.direction="transmit",peer=%q,process=%q}`, peer, comm(t))
	testnet.Eventually(t, 20*time.Second, "the collector to get the values", func() bool {
		values := collector.Points(<-received)
		return values[retransmits+fast] == 1 && values[moved+transmit] >= sent
	})
	_, text := collector.Scrape(t, address)
	values := collector.Parse(t, text)
	inPrometheus := strings.NewReplacer(".type", "_type", "network.", "network_", "tcp.", "tcp_", "io.", "io_")
	for name, want := range map[string]float64{
		"system_network_tcp_retransmits_total" + inPrometheus.Replace(fast):       1,
		fmt.Sprintf("airtide_tcp_connections{peer=%q,process=%q}", peer, comm(t)): 1,
	} {
		if got, ok := values[name]; !ok || got != want {
			t.Errorf("%s is %g (%t), want %g\n%s", name, got, ok, want, text)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if table, err := io.ReadAll(out); err != nil || len(table) > 0 {
		t.Errorf("it prints %q, %v", table, err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("Ctrl-C: %v\n%s", err, errOut.String())
	}
}

// comm is the name of this process, which owns both ends.
func comm(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}
