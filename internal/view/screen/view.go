package screen

import (
	"fmt"
	"path/filepath"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"airtide/internal/tcp"
	"airtide/internal/units"
	"airtide/internal/view/terminal"
)

// View draws the whole screen: exactly height lines, at most as wide as the terminal.
func (m *ui) View() tea.View {
	var body []string
	switch {
	case m.showHelp:
		body = m.helpLines()
	case m.detail != nil:
		body = m.detailLines(m.height - 2 - len(m.status.Radios))
	default:
		body = m.tableLines()
	}
	lines := make([]string, 0, m.height)
	lines = append(lines, m.header())
	for i := range m.status.Radios {
		lines = append(lines, m.styles.dim.Render(m.status.Radios[i].Brief()))
	}
	lines = append(lines, body...)
	for len(lines) < m.height-1 {
		lines = append(lines, "")
	}
	lines = append(lines[:max(0, m.height-1)], m.footer())
	for i := range lines {
		lines[i] = ansi.Truncate(lines[i], m.width, "")
	}
	v := tea.NewView(strings.Join(lines, "\n"))
	v.AltScreen = true
	v.WindowTitle = "airtide monitor"
	return v
}

// header drops items that do not fit, but never the lost records.
func (m *ui) header() string {
	loss := m.status.lossText()
	lossStyle := m.styles.dim
	if m.status.Lost+m.status.Untracked > 0 {
		lossStyle = m.styles.warn
		loss = strings.ToUpper(loss[:4]) + loss[4:]
	}
	flows := units.Count(m.status.Flows, "flow")
	if len(m.rows) != m.status.Flows {
		flows = fmt.Sprintf("%d of %s", len(m.rows), flows)
	}
	type part struct {
		text  string
		style func(...string) string
	}
	var parts []part
	if p := m.o.Player; p != nil {
		s := p.State()
		text := fmt.Sprintf("%.1f of %.1f s", s.Place.Seconds(), s.Length.Seconds())
		switch {
		case s.Paused:
			parts = append(parts, part{"PAUSED", m.styles.note.Render})
		case s.Ended:
			parts = append(parts, part{"END", m.styles.note.Render})
		case s.Speed != 1:
			text += fmt.Sprintf(" x%g", s.Speed)
		}
		parts = append(parts, part{text, m.styles.note.Render})
	}
	if m.o.Recorder != nil {
		switch path, on, err := m.o.Recorder.State(); {
		case err != nil:
			parts = append(parts, part{"NOT RECORDED", m.styles.warn.Render})
		case on:
			parts = append(parts, part{"REC " + filepath.Base(path), m.styles.warn.Render})
		case path != "":
			parts = append(parts, part{"saved " + filepath.Base(path), m.styles.note.Render})
		}
	}
	if m.paused {
		parts = append(parts, part{"PAUSED", m.styles.note.Render})
	}
	if m.ended {
		parts = append(parts, part{"ENDED", m.styles.note.Render})
	}
	parts = append(parts, part{loss, lossStyle.Render}, part{flows, m.styles.title.Render})
	if m.status.Source != "" {
		parts = append(parts, part{units.Printable(m.status.Source), m.styles.dim.Render})
	}
	parts = append(parts,
		part{scaledText(m.status.SamplesPerSecond) + " samples/s", m.styles.dim.Render},
		part{m.wall.Format("15:04:05"), m.styles.dim.Render})

	line := m.styles.title.Render("airtide")
	used := len("airtide")
	for _, p := range parts {
		w := ansi.StringWidth(p.text) + 2
		if used+w > m.width && p.text != loss {
			continue
		}
		line += "  " + p.style(p.text)
		used += w
	}
	return line
}

func (m *ui) footer() string {
	if m.typing {
		return m.input.View()
	}
	var state []string
	if m.o.Recorder != nil {
		if _, _, err := m.o.Recorder.State(); err != nil {
			state = append(state, units.Printable(err.Error()))
		}
	}
	if m.detail == nil {
		state = append(state, "sort "+m.sortText())
	}
	if m.filter.Text != "" {
		state = append(state, "filter "+units.Printable(m.filter.Text))
	}
	if m.filter.HideIdle {
		state = append(state, "idle hidden")
	}
	line := m.styles.title.Render(strings.Join(state, "  "))
	used := ansi.StringWidth(line)
	if used > 0 {
		line += "  "
		used += 2
	}
	h := m.help
	h.SetWidth(max(1, m.width-used))
	keys := m.keys.short(m.detail != nil, m.o.Recorder != nil)
	if m.o.Player != nil {
		keys = append(m.keys.replay(), keys...)
	}
	return line + h.ShortHelpView(keys)
}

func (m *ui) sortText() string {
	arrow := "▼"
	if m.sort.Reverse {
		arrow = "▲"
	}
	switch m.sort.Key {
	case "", SortByRate:
		return "rate" + arrow
	case "flow":
		return "flow" + arrow
	}
	return columnByKey(m.sort.Key).title + arrow
}

// tableLines renders only the rows in sight.
func (m *ui) tableLines() []string {
	cols := fit(m.width, leasts(m.width), m.wants)
	lines := []string{m.titles(cols)}
	if len(m.rows) == 0 {
		return append(lines, m.styles.dim.Render(m.emptyText()))
	}
	for i := m.top; i < min(len(m.rows), m.top+m.page()); i++ {
		lines = append(lines, m.rowLine(cols, m.rows[i], i == m.cursor))
	}
	return lines
}

func (m *ui) emptyText() string {
	switch {
	case len(m.all) == 0 && m.ended:
		return "no connection was seen"
	case len(m.all) == 0 && m.o.Chosen != "":
		return "no connection of " + units.Printable(m.o.Chosen) + " seen yet"
	case len(m.all) == 0:
		return "no connection seen yet; a per-ACK source shows one as soon as a segment arrives"
	case m.filter.Text == "":
		return "all flows are idle: e shows them"
	}
	return "no flow matches the filter: esc clears it"
}

func (m *ui) titles(cols []placed) string {
	parts := make([]string, len(cols))
	for i, c := range cols {
		text := cell(c.title, c.width, c.right)
		style := m.styles.head
		if c.key == m.sort.Key {
			style = m.styles.sorted.Reverse(true)
		}
		parts[i] = style.Render(text)
	}
	return strings.Join(parts, " ")
}

func (m *ui) rowLine(cols []placed, r *Row, selected bool) string {
	parts := make([]string, len(cols))
	for i, c := range cols {
		parts[i] = cell(c.text(r), c.width, c.right)
		if !selected && !r.Closed {
			parts[i] = m.mark(c.key, r, parts[i])
		}
	}
	line := strings.Join(parts, " ")
	switch {
	case selected && r.Closed:
		return m.styles.selected.Faint(true).Render(line)
	case selected:
		return m.styles.selected.Render(line)
	case r.Closed:
		return m.styles.dim.Render(line)
	}
	return line
}

// mark stresses the cells that tell of trouble now.
func (m *ui) mark(key string, r *Row, text string) string {
	switch {
	case key == "ca_state" && r.CAState == Text(tcp.CALoss.String()):
		return m.styles.warn.Render(text)
	case key == "ca_state" && r.CAState != "" && r.CAState != Text(tcp.CAOpen.String()):
		return m.styles.note.Render(text)
	case key == "timeout" && r.Backoff > 0:
		return m.styles.warn.Render(text)
	}
	return text
}

func (m *ui) helpLines() []string {
	h := m.help
	h.SetWidth(m.width)
	lines := []string{"", m.styles.title.Render("Keys")}
	lines = append(lines, strings.Split(h.FullHelpView(m.keys.full(m.o.Player != nil, m.o.Recorder != nil)), "\n")...)
	columns := strings.Join([]string{
		"CC congestion control · CA congestion state · CWND, SSTHR, INFL in packets",
		"SENDQ written, not acknowledged · RECVQ received, not read (bytes)",
		"SEND, RECV payload in bit/s over 2 s · RETR retransmitted packets",
		"REORD reordering · LCONG local device congestion · DUPACK dup ACK, SACK, DSACK · RTO timeouts",
		"- is a value that is not known",
	}, "\n")
	lines = append(lines, "", m.styles.title.Render("Columns"))
	return append(lines, strings.Split(terminal.Wrap(columns, m.width, 2), "\n")...)
}
