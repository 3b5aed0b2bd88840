package capture

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"airtide/internal/packets/conn"
	"airtide/internal/units"
)

// sum adds up connections for the sentence about a capture.
type sum struct {
	dataBytes uint64
	// weights are the bytes of connections by the place of the capture, plus one for each.
	weights map[string]uint64
	// sent are directions that the capture shows at their sender, passing all others.
	sent, passing segments
	// full counts segments that fill the receiver's window, closed the ACKs that close it.
	full, closed uint64
	ends         map[string]uint64 // connections by their end
}

// segments counts segments of data, those of them that were late, and late ones without data.
type segments struct{ all, late, bare uint64 }

func (s *segments) add(d *conn.Direction) {
	s.all += d.DataSegments
	s.late += d.LateSegments - d.LateBare
	s.bare += d.LateBare
}

func (s *sum) add(c *conn.Connection) {
	if s.weights == nil {
		s.weights = map[string]uint64{}
		s.ends = map[string]uint64{}
	}
	s.dataBytes += c.Bytes()
	s.weights[c.Near] += 1 + c.Bytes()
	s.ends[c.End]++
	for _, d := range []*conn.Direction{&c.FromClient, &c.FromServer} {
		s.full += d.WindowFull
		s.closed += d.ZeroWindows
		if d.ResentSegments != nil {
			s.sent.add(d)
		} else {
			s.passing.add(d)
		}
	}
}

// sentence describes the content of a capture, its place, and the problems that it shows.
func (s *sum) sentence(totals conn.Totals) string {
	parts := []string{fmt.Sprintf("%s in %s, %s of data", units.Count(totals.Connections, "connection"),
		seconds(max(0, totals.LastNs-totals.FirstNs)), units.Size(s.dataBytes).Short())}
	if totals.Connections == 0 {
		return fmt.Sprintf("no TCP connection in %s", units.Count(totals.Packets, "packet"))
	}
	parts = append(parts, "captured "+s.place())
	parts = append(parts, s.unanswered()...)
	parts = append(parts, s.repetitions()...)
	switch {
	case s.closed > 0:
		parts = append(parts, "the receiver closed its window "+units.Count(s.closed, "time"))
	case s.full > 0:
		parts = append(parts, "the receiver's window was full "+units.Count(s.full, "time"))
	}
	if n := s.ends["reset"]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d ended by a reset", n))
	}
	return strings.Join(parts, "; ")
}

// place is the place of the capture, if it is the same for nine tenths of the data.
func (s *sum) place() string {
	all := uint64(0)
	best := ""
	for _, near := range slices.Sorted(maps.Keys(s.weights)) {
		all += s.weights[near]
		if s.weights[near] > s.weights[best] {
			best = near
		}
	}
	if 10*s.weights[best] < 9*all {
		return "at clients and servers"
	}
	return place(best)
}

// place words the value of conn.Connection.Near.
func place(near string) string {
	switch near {
	case "":
		return "at an unknown place"
	case "both":
		return "on the host of client and server"
	case "between":
		return "between client and server"
	}
	return "at the " + near
}

// unanswered counts the connections that did not come about.
func (s *sum) unanswered() (parts []string) {
	if n := s.ends["no_answer"]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d got no answer", n))
	}
	if n := s.ends["refused"]; n > 0 {
		parts = append(parts, fmt.Sprintf("%d refused", n))
	}
	return parts
}

// repetitions counts the segments that were sent again, or that were late where the capture cannot
// tell which. A direction without data and without late segments is left out.
func (s *sum) repetitions() (parts []string) {
	tell := func(of segments, what string) {
		switch {
		case of.late > 0:
			share := 100 * float64(of.late) / float64(of.all)
			parts = append(parts, fmt.Sprintf("%d of %s %s (%s %%)", of.late, units.Count(of.all, "segment"), what,
				units.ThreeDigits(share)))
		case of.bare > 0: // SYNs and FINs
			parts = append(parts, fmt.Sprintf("%s without data %s", units.Count(of.bare, "segment"), what))
		case of.all > 0 && s.sent.late+s.passing.late+s.sent.bare+s.passing.bare == 0 && len(parts) == 0:
			parts = append(parts, "no segment "+what)
		}
	}
	tell(s.sent, "sent again")
	tell(s.passing, "sent again or reordered")
	return parts
}
