package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/net/netutil"
)

// prefix of the names of all metrics.
const prefix = "airtide_share_"

// collector asks the agent when it is asked itself.
type collector struct{ look Look }

// Describe sends no descriptions, because the terminals are not known in advance
// (prometheus.Collector).
func (c collector) Describe(chan<- *prometheus.Desc) {}

// Collect sends the next status. If the agent is stalled, the scrape fails with an error.
func (c collector) Collect(out chan<- prometheus.Metric) {
	all, cell, policy, err := c.look.points(context.Background())
	if err != nil {
		out <- prometheus.NewInvalidMetric(
			prometheus.NewDesc(prefix+bounded.name, bounded.help, nil, nil),
			fmt.Errorf("the agent gives no status: %w", err),
		)
		return
	}
	constant := prometheus.Labels{"cell": cell, "policy": policy}
	descriptions := map[*definition]*prometheus.Desc{}
	for _, p := range all {
		d := descriptions[p.definition]
		if d == nil {
			d = prometheus.NewDesc(prefix+p.name, p.help, p.labels(), constant)
			descriptions[p.definition] = d
		}
		kind := prometheus.GaugeValue
		if p.counter {
			kind = prometheus.CounterValue
		}
		out <- prometheus.MustNewConstMetric(d, kind, p.value, p.labelValues()...)
	}
}

func (d *definition) labels() []string {
	if d.label == "" {
		return nil
	}
	return []string{d.label}
}

func (p *point) labelValues() []string {
	if p.label == "" {
		return nil
	}
	return []string{p.of}
}

// Handler serves the metrics of the agent and of its process.
func Handler(look Look) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector{look}, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: mostAtOnce}))
	return mux
}

// mostAtOnce is how many scrapes are answered at the same time.
const mostAtOnce = 4

// Server answers scrapes.
type Server struct {
	http     http.Server
	listener net.Listener
	ended    chan error
}

// Limits of the server. Connections that ask for nothing are closed, so that they take neither the
// agent's descriptors nor the places of a real scraper for long.
const (
	maxConnections = 16
	idleTimeout    = 5 * time.Second
)

// Serve answers scrapes of http://ADDRESS/metrics until Close. An address without a host means all
// addresses of the machine.
func Serve(address string, look Look) (*Server, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serving metrics: %w", err)
	}
	return serve(l, look), nil
}

func serve(l net.Listener, look Look) *Server {
	s := &Server{listener: l, ended: make(chan error, 1), http: http.Server{
		Handler: Handler(look), ReadHeaderTimeout: idleTimeout, IdleTimeout: idleTimeout,
		WriteTimeout: 10 * time.Second, MaxHeaderBytes: 1 << 14, ErrorLog: log.New(io.Discard, "", 0),
	}}
	go func() { s.ended <- s.http.Serve(netutil.LimitListener(l, maxConnections)) }()
	return s
}

// Address returns the listening address.
func (s *Server) Address() net.Addr { return s.listener.Addr() }

// Close ends at once.
func (s *Server) Close() error {
	err := s.http.Close()
	if ended := <-s.ended; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("serving metrics: %w", ended))
	}
	return err
}
