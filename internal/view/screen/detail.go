package screen

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"charm.land/lipgloss/v2"

	"airtide/internal/tcp"
	"airtide/internal/units"
)

// Sizes of the detail pane.
const (
	wideDetail    = 120 // figures stand in eight columns at 40 more than this width
	chartsBeside  = 72  // least width with the charts side by side
	minChartRows  = 4   // rows of a chart with its axis
	maxChartRows  = 14
	axisLabel     = 7
	minEventLines = 4
)

// detailLines draws one connection: its identity, its figures, charts and last events.
func (m *ui) detailLines(height int) []string {
	r := m.detail.Row
	// The addresses come last, because IPv6 addresses may be cut off.
	state := stateText(r)
	style := m.styles.title
	switch {
	case r.Closed:
		state = "closed: " + string(r.CloseReason)
		style = m.styles.note
	case m.gone:
		state = "no longer there"
		style = m.styles.note
	}
	lines := []string{
		m.styles.title.Render(processText(r)+"  "+orDash(r.CongestionControl)) + "  " + style.Render(state) + "  " +
			m.styles.title.Render(orDash(r.Local)+" > "+orDash(r.Remote)),
	}
	lines = append(lines, m.figures(r)...)
	lines = append(lines, m.limitLines()...)

	stacked := 3
	if m.width >= chartsBeside {
		stacked = 1
	}
	// The charts and the events share the remaining lines. Each chart has a title above its rows.
	left := height - len(lines) - 1 - minEventLines
	rows := min(max(left*2/3/stacked, left/stacked-8, minChartRows), maxChartRows)
	rows = min(rows, left/stacked-1)
	if rows >= 2 {
		width := m.width * stacked / 3
		charts := [][]string{
			m.chart("payload, bit/s", rateOf, m.styles.rate, scaledText, rows, width),
			m.chart("cwnd, packets", cwndOf, m.styles.cwnd, countText, rows, width),
			m.chart(m.rttTitle(r), rttOf, m.styles.rtt, msText, rows, width),
		}
		if stacked == 1 {
			for i := range charts[0] {
				line := ""
				for _, c := range charts {
					line += lipgloss.NewStyle().Width(width).Render(c[i])
				}
				lines = append(lines, line)
			}
		} else {
			lines = append(lines, slices.Concat(charts...)...)
		}
	}
	return append(lines, m.eventLines(height-len(lines))...)
}

// limitLines are the limits of the rate in the history, the latest first, with the seconds since
// each began: "limit  pacing 4 s < capacity 12 s". With drops a second line tells where packets
// were lost.
func (m *ui) limitLines() []string {
	phases := m.detail.Finding.Phases
	var parts []string
	for i := len(phases) - 1; i >= 0; i-- {
		p := &phases[i]
		parts = append(parts, fmt.Sprintf("%s %.0f s", p.Limit, float64(p.EndNs-p.StartNs)/1e9))
	}
	line := "-"
	if len(parts) > 0 {
		line = strings.Join(parts, " < ")
	}
	lines := []string{m.named("limit", line)}
	if l := m.detail.Row.Losses; l != nil {
		lines = append(lines, m.named("losses", l.String()))
	}
	return lines
}

// named is a line with a name in front.
func (m *ui) named(name, text string) string {
	return m.styles.dim.Render(cell(name, 13, false)) + cell(text, max(1, m.width-13), false)
}

func (m *ui) rttTitle(r *Row) string {
	if r.RTT == tcp.Absent {
		return "srtt, ms"
	}
	return "RTT, ms"
}

// figures are the values of the row in as many columns as fit, four of a kind beside each other.
func (m *ui) figures(r *Row) []string {
	cells := [][2]string{
		{"cwnd", countText(r.Cwnd)},
		{"ssthresh", countText(r.Ssthresh)},
		{"in flight", countText(r.InFlight)},
		{"CA state", orDash(r.CAState)},
		{"srtt ms", msText(r.Srtt)},
		{"min RTT ms", msText(r.MinRTT)},
		{"RTT ms", msText(r.RTT)},
		{"RTO ms", m.rtoText(r)},
		{"send b/s", scaledText(r.SendRate)},
		{"recv b/s", scaledText(r.ReceiveRate)},
		{"deliver b/s", scaledText(r.DeliveryRate)},
		{"pacing b/s", scaledText(r.PacingRate)},
		{"send queue", scaledText(r.SendQueued)},
		{"unsent", scaledText(r.Unsent)},
		{"recv queue", scaledText(r.ReceiveQueued)},
		{"device queue", scaledText(r.DeviceQueue)},
		{"send window", scaledText(r.SendWindow)},
		{"recv window", scaledText(r.ReceiveWindow)},
		{"retransmits", countText(r.Retransmits)},
		{"lost packets", countText(r.LostPackets)},
		{"reordering", countText(r.Errors.Reordering)},
		{"local cong.", countText(r.Errors.LocalCongestion)},
		{"dup ACKs", countText(r.Errors.DupAck)},
		{"timeouts", countText(r.Errors.Timeout)},
	}
	columns := 4
	switch {
	case m.width >= wideDetail+40:
		columns = 8
	case m.width < 72:
		columns = 2
	}
	width := m.width / columns
	var lines []string
	for i := 0; i < len(cells); i += columns {
		var line strings.Builder
		for _, c := range cells[i : i+columns] {
			value := max(1, width-13-2)
			line.WriteString(m.styles.dim.Render(cell(c[0], 13, false)) + cell(c[1], value, false) + "  ")
		}
		lines = append(lines, line.String())
	}
	return lines
}

func (m *ui) rtoText(r *Row) string {
	if r.Backoff > 0 {
		return msText(r.RTO) + " x" + plainText(1<<min(r.Backoff, 30))
	}
	return msText(r.RTO)
}

// chartSpans are the times that a chart can cover.
var chartSpans = []time.Duration{historySpan / 6, historySpan / 2, historySpan}

// timeSpan returns the chosen span, or else the shortest span that covers the flow's history.
func (m *ui) timeSpan() time.Duration {
	if m.span != 0 {
		return m.span
	}
	if h := m.detail.History; len(h) > 0 {
		for _, s := range chartSpans {
			if h[0].TimeNs >= m.nowNs-s.Nanoseconds() {
				return s
			}
		}
	}
	return historySpan
}

func (m *ui) nextSpan() time.Duration {
	i := slices.Index(chartSpans, m.timeSpan())
	return chartSpans[(i+len(chartSpans)-1)%len(chartSpans)]
}

// chart is a title and the rows of a plot with its axis, labelled at the top and the bottom.
func (m *ui) chart(
	name string, of func(Point) (int64, int64), style lipgloss.Style, text func(Value) string, rows, width int,
) []string {
	over := m.timeSpan()
	fromNs := m.nowNs - over.Nanoseconds()
	s := spans(m.detail.History, fromNs, of)
	low, high := bounds(s)
	c := newCanvas(max(1, width-axisLabel-2), rows, m.glyphs)
	c.plot(s, fromNs, m.nowNs, low, high)
	title := fmt.Sprintf("%s, last %.0f s", name, over.Seconds())
	if len(s) == 0 {
		title = name + ": none"
	}
	lines := []string{m.styles.title.Render(cell(title, width-1, false))}
	for i, dots := range c.lines() {
		label := ""
		switch i {
		case 0:
			label = text(Value(high))
		case rows - 1:
			label = text(Value(low))
		}
		lines = append(lines, m.styles.dim.Render(cell(label, axisLabel, true)+"┤")+style.Render(dots))
	}
	return lines
}

// eventLines are the newest events that fit, newest last, below a title.
func (m *ui) eventLines(height int) []string {
	if height < 2 {
		return nil
	}
	events := m.detail.Events
	end := max(0, len(events)-m.skipped)
	start := max(0, end-(height-1))
	title := "last events"
	if m.skipped > 0 {
		title = fmt.Sprintf("events, %d later ones not shown", len(events)-end)
	}
	lines := []string{m.styles.title.Render(title)}
	if len(events) == 0 {
		return append(lines, m.styles.dim.Render("none since the observation began"))
	}
	for _, e := range events[start:end] {
		at := m.wall.Add(time.Duration(e.TimeNs - m.nowNs)).Format("15:04:05.000000")
		line := fmt.Sprintf("%s  cwnd %-5d %-8s  ", at, e.CwndPackets, e.CAState)
		text := eventText(&e)
		switch e.Code {
		case tcp.CodeNone:
		case tcp.CodeTimeout:
			text = m.styles.warn.Render(text)
		default:
			text = m.styles.note.Render(text)
		}
		lines = append(lines, m.styles.dim.Render(line)+text)
	}
	return lines
}

// eventText describes an event in a few words.
func eventText(e *RecentEvent) string {
	name := strings.ReplaceAll(eventName(&e.Event), "_", " ")
	detail := ""
	switch e.Kind {
	case tcp.EventOpen, tcp.EventState:
		detail = fmt.Sprintf("%s > %s", tcp.State(e.From), tcp.State(e.To))
	case tcp.EventCAState:
		detail = fmt.Sprintf("%s > %s", tcp.CAState(e.From), tcp.CAState(e.To))
	case tcp.EventClose:
		detail = e.Reason.String()
	case tcp.EventReordering:
		detail = fmt.Sprintf("degree %d packets", e.Value)
	case tcp.EventDupAck:
		detail = fmt.Sprintf("ack %d", e.Seq)
	case tcp.EventSack, tcp.EventDsack:
		if e.NumBlocks > 0 {
			detail = fmt.Sprintf("%d-%d", e.Blocks[0].Start, e.Blocks[0].End)
		}
		if e.NumBlocks > 1 {
			detail += fmt.Sprintf(" and %d more", e.NumBlocks-1)
		}
	case tcp.EventTimeout:
		detail = fmt.Sprintf("RTO %s ms", msText(Value(e.Value)))
	case tcp.EventRetransmit:
		detail = fmt.Sprintf("%s %d-%d", e.Cause.Title(), e.Seq, e.EndSeq)
	case tcp.EventUndo:
		detail = fmt.Sprintf("%s of %s", e.Reason, tcp.CAState(e.From))
	case tcp.EventECNEcho:
		detail = fmt.Sprintf("%d marked so far", e.Value)
	case tcp.EventWindowOpen:
		detail = scaledText(Value(e.Value)) + " bytes"
	case tcp.EventCCChange:
		detail = units.Printable(e.Text)
	case tcp.EventDrop:
		detail = fmt.Sprintf("%s %d-%d", units.Printable(e.Text), e.Seq, e.EndSeq)
	case tcp.EventHandshake:
		detail = fmt.Sprintf("%s ms, %d sent again", msText(Value(e.Value)), e.To)
	}
	text := strings.TrimRight(name+"  "+detail, " ")
	if e.Count > 1 {
		text += fmt.Sprintf("  (%d times)", e.Count)
	}
	return text
}
