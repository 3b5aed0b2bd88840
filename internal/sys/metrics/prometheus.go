package metrics

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
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
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	return mux
}

// Server answers scrapes.
type Server struct {
	http     http.Server
	listener net.Listener
	ended    chan error
}

// Limits of the server. A connection may be closed unless its page is being made: one that asks
// for nothing, sends a request slowly or does not read its page takes neither this process's
// descriptors nor the place of a real scraper.
const (
	maxConnections = 16
	idleTimeout    = 5 * time.Second
	mostAtOnce     = 4 // pages; other requests wait
)

// connections keeps the limits of a server. The server calls note when the state of a connection
// changes.
type connections struct {
	mu     sync.Mutex
	quiet  map[net.Conn]uint64 // those that may be closed, by when they began to be
	all    map[net.Conn]netip.Prefix
	count  uint64
	places chan struct{} // one for each page that is being made
}

func newConnections() *connections {
	return &connections{
		quiet: map[net.Conn]uint64{}, all: map[net.Conn]netip.Prefix{}, places: make(chan struct{}, mostAtOnce),
	}
}

func (c *connections) note(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch state {
	case http.StateNew:
		c.all[conn] = hostOf(conn.RemoteAddr())
		c.setQuiet(conn)
		c.closeOldest()
	case http.StateIdle:
		c.setQuiet(conn)
	case http.StateActive:
	default:
		delete(c.quiet, conn)
		delete(c.all, conn)
	}
}

// hostOf returns the address of a host. A host may have all addresses of an IPv6 network.
func hostOf(remote net.Addr) netip.Prefix {
	at, _ := netip.ParseAddrPort(remote.String())
	address := at.Addr().Unmap()
	bits := address.BitLen()
	if address.Is6() {
		bits = 64
	}
	host, _ := address.Prefix(bits)
	return host
}

// connKey is the key of a request's connection in its context.
type connKey struct{}

func (c *connections) withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// page is an answer in memory.
type page struct {
	header http.Header
	status int
	bytes.Buffer
}

func (p *page) Header() http.Header { return p.header }

func (p *page) WriteHeader(status int) { p.status = status }

// serve keeps the connection of a request while its page is made.
func (c *connections) serve(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _ := r.Context().Value(connKey{}).(net.Conn)
		c.mu.Lock()
		delete(c.quiet, conn)
		c.mu.Unlock()
		made := c.make(h, r)
		c.mu.Lock()
		if _, open := c.all[conn]; open {
			c.setQuiet(conn)
		}
		c.mu.Unlock()
		maps.Copy(w.Header(), made.header)
		w.WriteHeader(made.status)
		_, _ = made.WriteTo(w)
	})
}

// make makes a page when it has a place.
func (c *connections) make(h http.Handler, r *http.Request) *page {
	c.places <- struct{}{}
	defer func() { <-c.places }()
	made := &page{header: http.Header{}, status: http.StatusOK}
	h.ServeHTTP(made, r)
	return made
}

func (c *connections) setQuiet(conn net.Conn) {
	c.count++
	c.quiet[conn] = c.count
}

// closeOldest closes a connection if there are too many: of the host with the most, the one that
// has been quiet longest.
func (c *connections) closeOldest() {
	if len(c.all) <= maxConnections {
		return
	}
	of := map[netip.Prefix]int{}
	for _, host := range c.all {
		of[host]++
	}
	var oldest net.Conn
	for conn, since := range c.quiet {
		more := of[c.all[conn]] - of[c.all[oldest]]
		if oldest == nil || more > 0 || more == 0 && since < c.quiet[oldest] {
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
		ReadTimeout: idleTimeout, IdleTimeout: idleTimeout, // also of a body, which nobody reads
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
