package screen

import (
	"slices"
	"strings"
	"time"

	"charm.land/bubbles/v2/help"
	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"

	"airtide/internal/tcp"
)

// tickMsg requests fresh rows. endedMsg reports the end of the source.
type (
	tickMsg  struct{}
	endedMsg struct{ err error }
)

// ui is the model of the full screen: a snapshot of the table, and how it is looked at.
type ui struct {
	table  *Table
	o      Options
	keys   keyMap
	styles styles
	width  int
	height int

	// The snapshot.
	nowNs  int64
	wall   time.Time
	status Status
	all    []*Row
	rows   []*Row // the filtered and sorted rows of all
	wants  []int
	paused bool
	ended  bool

	sort     Sort
	filter   Filter
	input    textinput.Model
	typing   bool // the filter is being typed
	selected tcp.FlowID
	cursor   int // the selected row
	top      int // the first row in sight

	detail   *Detail       // nil while the table is shown
	gone     bool          // the flow of the detail has left the table
	span     time.Duration // time span of the charts; 0 picks one
	glyphs   glyphs
	skipped  int // events between the last one in sight and the newest
	showHelp bool
	help     help.Model
}

func newUI(t *Table, o Options, colour bool) *ui {
	m := &ui{
		table: t, o: o, keys: newKeyMap(), styles: newStyles(colour), width: 80, height: 24,
		sort: o.Sort, filter: o.Filter, input: textinput.New(), glyphs: defaultGlyphs(), help: help.New(),
	}
	m.input.Prompt = "filter: "
	m.input.CharLimit = 100
	m.input.SetValue(o.Filter.Text)
	plain := m.input.Styles()
	plain.Focused.Text = m.styles.dim.Faint(false)
	plain.Focused.Prompt = m.styles.title
	m.input.SetStyles(plain)
	m.help.Styles = help.Styles{
		Ellipsis: m.styles.dim, ShortKey: m.styles.title, ShortDesc: m.styles.dim, ShortSeparator: m.styles.dim,
		FullKey: m.styles.title, FullDesc: m.styles.dim.Faint(false), FullSeparator: m.styles.dim,
	}
	m.help.ShortSeparator = "  "
	m.refresh()
	return m
}

// Init starts the clock.
func (m *ui) Init() tea.Cmd { return m.tick() }

func (m *ui) tick() tea.Cmd {
	return tea.Tick(m.o.Interval, func(time.Time) tea.Msg { return tickMsg{} })
}

// Update takes one message.
func (m *ui) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width = msg.Width
		m.height = msg.Height
		m.scroll()
		return m, nil
	case tickMsg:
		m.refresh()
		return m, m.tick()
	case endedMsg:
		if msg.err != nil {
			return m, tea.Quit // Run returns the error
		}
		m.ended = true
		m.refresh()
		return m, nil
	case tea.KeyPressMsg:
		return m, m.press(msg)
	}
	if m.typing {
		return m, m.edit(msg)
	}
	return m, nil
}

// refresh takes a new snapshot, unless paused.
func (m *ui) refresh() {
	if m.paused {
		return
	}
	m.nowNs, m.wall = m.o.Clock()
	m.all = m.table.snapshot(m.nowNs)
	m.status = m.table.Status(m.nowNs)
	m.arrange()
	if m.detail != nil {
		m.openDetail()
	}
}

// arrange sorts and filters the snapshot again. The selection remains on its flow while the flow is
// shown.
func (m *ui) arrange() {
	m.rows = Arrange(m.all, m.sort, m.filter)
	m.wants = wants(m.rows)
	if i := slices.IndexFunc(m.rows, func(r *Row) bool { return r.Flow == m.selected }); i >= 0 && m.selected != 0 {
		m.cursor = i
	}
	m.scroll()
}

// selectRow moves the selection and keeps it in sight.
func (m *ui) selectRow(i int) {
	m.cursor = i
	m.scroll()
	if len(m.rows) > 0 {
		m.selected = m.rows[m.cursor].Flow
	}
	if m.detail != nil && len(m.rows) > 0 {
		m.skipped = 0
		m.openDetail()
	}
}

func (m *ui) scroll() {
	m.cursor = max(0, min(m.cursor, len(m.rows)-1))
	page := m.page()
	m.top = max(0, min(m.top, m.cursor, len(m.rows)-page))
	m.top = max(m.top, m.cursor-page+1)
}

// page is the number of rows in sight: all lines but the header, the titles and the footer.
func (m *ui) page() int { return max(1, m.height-3-len(m.status.Radios)) }

// openDetail fetches the selected flow's history. While paused, it ignores records after the
// snapshot.
func (m *ui) openDetail() {
	d, ok := m.table.Detail(m.nowNs, m.selected)
	if !ok {
		m.gone = m.detail != nil
		return
	}
	m.gone = false
	if m.paused {
		if i := slices.IndexFunc(m.all, func(r *Row) bool { return r.Flow == m.selected }); i >= 0 {
			d.Row = m.all[i]
		}
		d.History = slices.DeleteFunc(d.History, func(p Point) bool { return p.TimeNs > m.nowNs })
		d.Events = slices.DeleteFunc(d.Events, func(e RecentEvent) bool { return e.TimeNs > m.nowNs })
	}
	m.detail = &d
}

func (m *ui) press(k tea.KeyPressMsg) tea.Cmd {
	if key.Matches(k, m.keys.now) {
		return tea.Quit
	}
	if key.Matches(k, m.keys.suspend) {
		return tea.Suspend
	}
	if m.typing {
		return m.pressInFilter(k)
	}
	switch {
	case m.showHelp: // any key closes it
		m.showHelp = false
		return nil
	case key.Matches(k, m.keys.help):
		m.showHelp = true
	case m.o.Player != nil && m.pressInReplay(k):
		m.refresh()
	case m.o.Recorder != nil && key.Matches(k, m.keys.record):
		m.o.Recorder.Toggle(m.choice())
	case key.Matches(k, m.keys.pause):
		m.paused = !m.paused
		m.refresh()
	case m.detail != nil && m.pressInDetail(k):
	case key.Matches(k, m.keys.up):
		m.selectRow(m.cursor - 1)
	case key.Matches(k, m.keys.down):
		m.selectRow(m.cursor + 1)
	case m.detail != nil:
	default:
		return m.pressInTable(k)
	}
	return nil
}

// choice describes and chooses the flows that a recording takes: those that the filter shows, and
// those to come that have its words.
func (m *ui) choice() (label string, choose func(*tcp.Flow) bool) {
	words := strings.Fields(strings.ToLower(m.filter.Text))
	if len(words) == 0 {
		return "", nil
	}
	shown := map[tcp.FlowID]bool{}
	for _, r := range Arrange(m.all, Sort{Key: "flow"}, Filter{Text: m.filter.Text}) {
		shown[r.Flow] = true
	}
	return "filter: " + strings.Join(words, " "), func(f *tcp.Flow) bool {
		if shown[f.ID] {
			return true
		}
		var r Row
		newConnection(f, true).fill(&r)
		return Filter{}.match(&r, words)
	}
}

func (m *ui) pressInReplay(k tea.KeyPressMsg) bool {
	seek := 5 * time.Second
	if k.Mod.Contains(tea.ModShift) {
		seek = time.Minute
	}
	const step = 100 * time.Millisecond
	p := m.o.Player
	switch {
	case key.Matches(k, m.keys.pause):
		p.Pause()
	case key.Matches(k, m.keys.stepOn):
		p.Step(step)
	case key.Matches(k, m.keys.stepBack):
		p.Step(-step)
	case key.Matches(k, m.keys.seekOn):
		p.Seek(seek)
	case key.Matches(k, m.keys.seekBack):
		p.Seek(-seek)
	case key.Matches(k, m.keys.faster):
		p.Faster(2)
	case key.Matches(k, m.keys.slower):
		p.Faster(0.5)
	default:
		return false
	}
	return true
}

func (m *ui) pressInTable(k tea.KeyPressMsg) tea.Cmd {
	switch {
	case key.Matches(k, m.keys.pageUp):
		m.selectRow(m.cursor - m.page())
	case key.Matches(k, m.keys.pageDown):
		m.selectRow(m.cursor + m.page())
	case key.Matches(k, m.keys.home):
		m.selectRow(0)
	case key.Matches(k, m.keys.end):
		m.selectRow(len(m.rows) - 1)
	case key.Matches(k, m.keys.sortNext):
		m.cycleSort(1)
	case key.Matches(k, m.keys.sortBack):
		m.cycleSort(-1)
	case key.Matches(k, m.keys.reverse):
		m.sort.Reverse = !m.sort.Reverse
		m.arrange()
	case key.Matches(k, m.keys.idle):
		m.filter.HideIdle = !m.filter.HideIdle
		m.arrange()
	case key.Matches(k, m.keys.filter):
		m.typing = true
		m.input.CursorEnd()
		return m.input.Focus()
	case key.Matches(k, m.keys.open):
		if len(m.rows) > 0 {
			m.selected = m.rows[m.cursor].Flow
			m.skipped = 0
			m.openDetail()
		}
	case key.Matches(k, m.keys.back):
		m.setFilter("")
	case key.Matches(k, m.keys.quit):
		return tea.Quit
	}
	return nil
}

func (m *ui) pressInDetail(k tea.KeyPressMsg) bool {
	switch {
	case key.Matches(k, m.keys.back, m.keys.quit, m.keys.open):
		m.detail = nil
		m.gone = false
	case key.Matches(k, m.keys.span):
		m.span = m.nextSpan()
	case key.Matches(k, m.keys.glyphs):
		m.glyphs = m.glyphs.other()
	case key.Matches(k, m.keys.earlier):
		m.skipped = min(m.skipped+5, max(0, len(m.detail.Events)-1))
	case key.Matches(k, m.keys.later):
		m.skipped = max(0, m.skipped-5)
	default:
		return false
	}
	return true
}

func (m *ui) pressInFilter(k tea.KeyPressMsg) tea.Cmd {
	switch k.String() {
	case "enter":
		m.typing = false
		m.input.Blur()
		return nil
	case "esc":
		m.typing = false
		m.input.Blur()
		m.setFilter("")
		return nil
	}
	return m.edit(k)
}

func (m *ui) edit(msg tea.Msg) tea.Cmd {
	var cmd tea.Cmd
	m.input, cmd = m.input.Update(msg)
	if m.input.Value() != m.filter.Text {
		m.filter.Text = m.input.Value()
		m.arrange()
	}
	return cmd
}

func (m *ui) setFilter(text string) {
	m.input.SetValue(text)
	m.filter.Text = text
	m.arrange()
}

// cycleSort goes on to the next column in sight; before the first one comes the sum of the rates.
func (m *ui) cycleSort(step int) {
	keys := []string{SortByRate}
	for _, c := range fit(m.width, leasts(m.width), m.wants) {
		keys = append(keys, c.key)
	}
	i := max(0, slices.Index(keys, m.sort.Key))
	m.sort = Sort{Key: keys[(i+step+len(keys))%len(keys)]}
	m.arrange()
}
