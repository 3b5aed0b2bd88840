package diagnose

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"

	"airtide/internal/tcp"
	"airtide/internal/units"
)

// Group sums up the short connections of one process with one peer, or those that did not open for
// one reason.
type Group struct {
	Comm string     `json:"comm"`
	Peer netip.Addr `json:"peer"`
	// Unopened says why they did not open; empty for short ones.
	Unopened    string  `json:"unopened,omitempty"`
	Connections int     `json:"connections"`
	Bytes       int64   `json:"bytes"`
	Seconds     float64 `json:"seconds"` // sum over all connections
	Shares      []Share `json:"shares"`  // shares of their time
}

// Groups sums up the connections that were short or did not open, the most first.
func (r *Report) Groups() []Group {
	type key struct {
		comm, unopened string
		peer           netip.Addr
	}
	groups := map[key]*Group{}
	sums := map[key]*shares{}
	for i := range r.Connections {
		c := &r.Connections[i]
		if c.Direction != "short" && c.Direction != "unopened" {
			continue
		}
		k := key{c.Comm, c.Unopened, c.Remote.Addr().Unmap()}
		g := groups[k]
		if g == nil {
			g = &Group{Comm: k.comm, Peer: k.peer, Unopened: k.unopened}
			groups[k] = g
			sums[k] = &shares{}
		}
		g.Connections++
		g.Bytes += c.AckedBytes + c.ReceivedBytes
		g.Seconds += c.Seconds
		for _, s := range c.Shares {
			sums[k][s.Limit] += s.Share * c.Seconds
		}
	}
	list := make([]Group, 0, len(groups))
	for k, g := range groups {
		g.Shares = sums[k].list()
		list = append(list, *g)
	}
	slices.SortFunc(list, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Connections, a.Connections), cmp.Compare(a.Comm, b.Comm), a.Peer.Compare(b.Peer),
			cmp.Compare(a.Unopened, b.Unopened))
	})
	return list
}

// Main returns the connections that send or receive, those with the most bytes first.
func (r *Report) Main() []*Connection {
	var list []*Connection
	for i := range r.Connections {
		if c := &r.Connections[i]; c.Direction == "sends" || c.Direction == "receives" {
			list = append(list, c)
		}
	}
	slices.SortStableFunc(list, func(a, b *Connection) int {
		return cmp.Compare(b.AckedBytes+b.ReceivedBytes, a.AckedBytes+a.ReceivedBytes)
	})
	return list
}

// Total returns the shares of the main connections by time, weighted with their bytes. Receivers
// count only if no connection sends: the sender's end knows more.
func (r *Report) Total() []Share {
	var sent, received shares
	senders := false
	for _, c := range r.Main() {
		to := &sent
		bytes := c.AckedBytes
		if c.Direction == "receives" {
			to = &received
			bytes = c.ReceivedBytes
		}
		senders = senders || c.Direction == "sends"
		for _, s := range c.Shares {
			to[s.Limit] += s.Share * float64(bytes)
		}
	}
	if senders {
		return sent.list()
	}
	return received.list()
}

// topConnections is the number of connections that the text explains.
const topConnections = 10

// begin separates connection i of n from the one before. It reports whether to explain it: unless
// all are wanted, a line counts those from topConnections on.
func begin(out io.Writer, i, n int, all bool) bool {
	if i == topConnections && !all {
		fmt.Fprintf(out, "\nand %s with fewer bytes; --all explains each\n",
			units.Count(n-topConnections, "connection"))
		return false
	}
	if i > 0 {
		fmt.Fprintln(out)
	}
	return true
}

// WriteText explains the main connections and sums up the others.
func (r *Report) WriteText(w io.Writer, all bool) error {
	out := bufio.NewWriter(w)
	connections := r.Main()
	for i, c := range connections {
		if !begin(out, i, len(connections), all) {
			break
		}
		c.write(out)
	}
	for i, g := range r.Groups() {
		if i == 0 && len(connections) > 0 {
			fmt.Fprintln(out)
		}
		if g.Unopened != "" {
			fmt.Fprintf(out, "%s of %s with %s did not open: %s; %s each\n", units.Count(g.Connections, "connection"),
				orUnknown(g.Comm), g.Peer, g.Unopened, milliseconds(g.Seconds*1e6/float64(g.Connections)))
			continue
		}
		fmt.Fprintf(out, "%s of %s with %s: %s of %sB each; %s\n", units.Count(g.Connections, "short connection"),
			orUnknown(g.Comm), g.Peer, milliseconds(g.Seconds*1e6/float64(g.Connections)),
			scaled(float64(g.Bytes)/float64(g.Connections)), SharesText(g.Shares, len(g.Shares)))
	}
	idle := 0
	for i := range r.Connections {
		if r.Connections[i].Direction == "idle" {
			idle++
		}
	}
	if idle > 0 {
		fmt.Fprintf(out, "idle: %s\n", units.Count(idle, "connection"))
	}
	if r.LeftOut > 0 {
		fmt.Fprintf(out, "left out: %s, closed or with few bytes\n", units.Count(r.LeftOut, "connection"))
	}
	for _, doubt := range r.Doubts {
		fmt.Fprintf(out, "less certain: %s\n", doubt)
	}
	return out.Flush()
}

// WriteJoined explains connections of which both ends are known.
func WriteJoined(w io.Writer, all []Joined, every bool) error {
	out := bufio.NewWriter(w)
	for i := range all {
		if !begin(out, i, len(all), every) {
			break
		}
		j := &all[i]
		j.write(out)
		switch {
		case j.OneEnd:
			fmt.Fprintf(out, "  %-10s both files were taken nearer to the same end: they show no delays of one way\n",
				"one end")
		case j.Delays == nil:
			fmt.Fprintf(out, "  %-10s the ends share too few bytes to compare their clocks\n", "both ends")
		default:
			fmt.Fprintf(out, "  %-10s %s\n", "both ends", j.Delays.Text())
		}
	}
	return out.Flush()
}

func orUnknown(comm string) string {
	if comm == "" {
		return "an unknown process"
	}
	return units.Printable(comm)
}

// write writes a connection.
func (c *Connection) write(out io.Writer) {
	bytes := c.AckedBytes
	verb := "sent"
	if c.Direction == "receives" {
		bytes = c.ReceivedBytes
		verb = "received"
	}
	process := ""
	if c.Comm != "" {
		process = units.Printable(c.Comm) + "  "
	}
	name := fmt.Sprintf("flow %d", c.ID)
	if c.Number > 0 {
		name = fmt.Sprintf("connection %d", c.Number)
	}
	bps := float64(bytes) * 8 / max(1e-9, c.Seconds)
	fmt.Fprintf(out, "%s  %s%s > %s  %sB %s in %s, %s\n", name, process, tcp.Endpoint(c.Local),
		tcp.Endpoint(c.Remote), scaled(float64(bytes)), verb, lasting(c.Seconds), rate(bps))
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(out, "  %-10s %s\n", name, text)
		}
	}
	line("limited by", SharesText(c.Shares, len(c.Shares)))
	line("verdict", fmt.Sprintf("%s (%s)", c.Sentence, c.Certainty))
	if len(c.Or) > 0 {
		names := make([]string, len(c.Or))
		for i, l := range c.Or {
			names[i] = l.String()
		}
		line("or", strings.Join(names, ", ")+": they cannot be told apart from this end alone")
	}
	name = "because"
	if at := c.explains(); at >= 0 && len(c.Phases) > 1 {
		line(name, c.times(&c.Phases[at])+":")
		name = ""
	}
	for _, e := range c.Evidence {
		line(name, e.Field+": "+e.Text)
		name = ""
	}
	if c.Losses != nil && c.Direction == "sends" {
		line("losses", c.Losses.String())
	}
	if c.Waits != nil && c.Direction == "sends" {
		line("waits", c.Waits.String())
	}
	if c.Radio != nil && c.Direction == "sends" {
		line("radio", c.Radio.String())
	}
	line("refuted by", c.Refuted)
	line("next", c.Next)
	if len(c.Phases) < 2 {
		return
	}
	for i := range c.Phases {
		p := &c.Phases[i]
		name := ""
		if i == 0 {
			name = "phases"
		}
		line(name, fmt.Sprintf("%s: %s (%s), %s", c.times(p), p.Limit, p.Certainty, rate(p.RateBps)))
	}
}

// times are the begin and the end of a phase since the begin of the connection.
func (c *Connection) times(p *Phase) string {
	return fmt.Sprintf("%.1f to %.1f s", float64(p.StartNs-c.StartNs)/1e9, float64(p.EndNs-c.StartNs)/1e9)
}

// SharesText prints the greatest shares, at most a number of them. Shares below half a per cent are
// left out behind the first.
func SharesText(list []Share, most int) string {
	var texts []string
	for i, s := range list {
		if i >= most || i > 0 && s.Share < 0.005 {
			break
		}
		texts = append(texts, s.Limit.String()+" "+units.Percent(s.Share))
	}
	if len(texts) == 0 {
		return "-"
	}
	return strings.Join(texts, ", ")
}

// lasting is a time in words: whole connections may take a few milliseconds.
func lasting(seconds float64) string {
	if seconds < 1 {
		return milliseconds(seconds * 1e6)
	}
	return fmt.Sprintf("%.1f s", seconds)
}
