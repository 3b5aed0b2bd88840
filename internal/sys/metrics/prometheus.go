package metrics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// gatherer gathers the points when it is asked itself.
type gatherer struct{ *Set }

// Describe sends no descriptions, because the values of labels are not known in advance
// (prometheus.Collector).
func (g gatherer) Describe(chan<- *prometheus.Desc) {}

// Collect sends the points. If there are none, because the source is stalled, the scrape fails with
// an error.
func (g gatherer) Collect(out chan<- prometheus.Metric) {
	points, labels, err := g.Gather(context.Background())
	if err != nil {
		first := g.Metrics[0]
		out <- prometheus.NewInvalidMetric(prometheus.NewDesc(first.prometheusName(), first.Help, nil, nil), err)
		return
	}
	constant := prometheus.Labels{}
	for _, l := range labels {
		constant[prometheusLabel(l.Name)] = l.Value
	}
	descriptions := map[*Metric]*prometheus.Desc{}
	for _, p := range points {
		d := descriptions[p.Metric]
		if d == nil {
			d = prometheus.NewDesc(p.prometheusName(), p.Help, p.prometheusLabels(), constant)
			descriptions[p.Metric] = d
		}
		kind := prometheus.GaugeValue
		if p.Counter {
			kind = prometheus.CounterValue
		}
		metric, err := prometheus.NewConstMetric(d, kind, p.Value, p.Of...)
		if err != nil {
			metric = prometheus.NewInvalidMetric(d, err)
		}
		out <- metric
	}
}

// Handler serves metrics, and those of this process.
func Handler(s *Set) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(gatherer{s}, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{MaxRequestsInFlight: mostAtOnce}))
	return mux
}

// mostAtOnce is the number of scrapes that are answered at the same time.
const mostAtOnce = 4

// Server answers scrapes.
type Server struct {
	http     http.Server
	listener net.Listener
	ended    chan error
}

// Limits of the server. Connections that ask for nothing take neither this process's descriptors
// nor the place of a real scraper: they are closed after a time, and at once if another one comes
// and there are too many, in all or of one address.
const (
	maxConnections = 16
	maxOfAddress   = 8
	idleTimeout    = 5 * time.Second
)

// connections keeps the limits of a server. The server calls note when the state of a connection
// changes. A connection is quiet until a whole request has come: one byte makes none.
type connections struct {
	mu    sync.Mutex
	quiet map[net.Conn]uint64 // those that ask for nothing, by when they began to
	all   map[net.Conn]netip.Addr
	count uint64
}

func newConnections() *connections {
	return &connections{quiet: map[net.Conn]uint64{}, all: map[net.Conn]netip.Addr{}}
}

func (c *connections) note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		from, _ := netip.ParseAddrPort(conn.RemoteAddr().String())
		c.all[conn] = from.Addr()
		c.setQuiet(conn)
		c.closeOldest(from.Addr())
	case http.StateIdle:
		c.setQuiet(conn)
	case http.StateActive:
	default:
		delete(c.quiet, conn)
		delete(c.all, conn)
	}
}

// connKey is the key of a request's connection in its context.
type connKey struct{}

func (c *connections) withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// serve keeps the connection of a request while it is answered.
func (c *connections) serve(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if conn, ok := r.Context().Value(connKey{}).(net.Conn); ok {
			c.mu.Lock()
			delete(c.quiet, conn)
			c.mu.Unlock()
		}
		h.ServeHTTP(w, r)
	})
}

func (c *connections) setQuiet(conn net.Conn) {
	c.count++
	c.quiet[conn] = c.count
}

// closeOldest closes the connection that has been quiet longest, if there are too many in all or of
// an address: one of that address in the second case.
func (c *connections) closeOldest(address netip.Addr) {
	same := 0
	for _, of := range c.all {
		if of == address {
			same++
		}
	}
	if len(c.all) <= maxConnections && same <= maxOfAddress {
		return
	}
	var oldest net.Conn
	for conn, since := range c.quiet {
		if (same <= maxOfAddress || c.all[conn] == address) && (oldest == nil || since < c.quiet[oldest]) {
			oldest = conn
		}
	}
	if oldest != nil { // the newest one is quiet too
		delete(c.quiet, oldest)
		delete(c.all, oldest)
		_ = oldest.Close()
	}
}

// Serve answers scrapes of http://ADDRESS/metrics until Close. An address without a host means all
// addresses of the machine.
func Serve(address string, set *Set) (*Server, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serving metrics: %w", err)
	}
	return serve(l, set), nil
}

func serve(l net.Listener, set *Set) *Server {
	limits := newConnections()
	s := &Server{listener: l, ended: make(chan error, 1), http: http.Server{
		Handler: limits.serve(Handler(set)), ConnState: limits.note, ConnContext: limits.withConn,
		ReadHeaderTimeout: idleTimeout, IdleTimeout: idleTimeout,
		WriteTimeout: 10 * time.Second, MaxHeaderBytes: 1 << 14, ErrorLog: log.New(io.Discard, "", 0),
	}}
	go func() { s.ended <- s.http.Serve(l) }()
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
