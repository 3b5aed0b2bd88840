package screen

import "charm.land/bubbles/v2/key"

// keyMap holds the keys of the full screen; docs/guide/monitor.md lists them.
type keyMap struct {
	up, down, pageUp, pageDown, home, end   key.Binding
	sortNext, sortBack, reverse             key.Binding
	filter, idle, pause, open, back, help   key.Binding
	span, glyphs, earlier, later, quit, now key.Binding
	suspend, record                         key.Binding
	// Keys of a replay.
	stepBack, stepOn, seekBack, seekOn, slower, faster key.Binding
}

func newKeyMap() keyMap {
	bind := func(shown, what string, keys ...string) key.Binding {
		return key.NewBinding(key.WithKeys(keys...), key.WithHelp(shown, what))
	}
	return keyMap{
		up:       bind("↑ k", "up", "up", "k"),
		down:     bind("↓ j", "down", "down", "j"),
		pageUp:   bind("PgUp", "page up", "pgup", "ctrl+b"),
		pageDown: bind("PgDn", "page down", "pgdown", "ctrl+f"),
		home:     bind("g Home", "first", "home", "g"),
		end:      bind("G End", "last", "end", "G"),
		sortNext: bind("s >", "sort by the next column", "s", ">"),
		sortBack: bind("<", "sort by the column before", "<"),
		reverse:  bind("S", "reverse the order", "S"),
		filter:   bind("/", "filter", "/"),
		idle:     bind("e", "hide or show idle flows", "e"),
		pause:    bind("p", "pause", "p", "space"),
		open:     bind("enter", "detail", "enter"),
		back:     bind("esc", "back, clear the filter", "esc"),
		help:     bind("?", "help", "?"),
		span:     bind("z", "detail: 60, 30 or 10 s", "z"),
		glyphs:   bind("b", "detail: braille or blocks", "b"),
		earlier:  bind("PgUp", "detail: earlier events", "pgup", "["),
		later:    bind("PgDn", "detail: later events", "pgdown", "]"),
		quit:     bind("q", "quit, back from the detail", "q"),
		now:      bind("ctrl+c", "quit at once", "ctrl+c"),
		suspend:  bind("ctrl+z", "suspend", "ctrl+z"),
		record:   bind("r", "start or end a recording", "r"),
		stepBack: bind(",", "replay: 0.1 s back, and pause", ","),
		stepOn:   bind(".", "replay: 0.1 s on, and pause", "."),
		seekBack: bind("←", "replay: 5 s back (shift: 60 s)", "left", "shift+left"),
		seekOn:   bind("→", "replay: 5 s on (shift: 60 s)", "right", "shift+right"),
		slower:   bind("-", "replay: half as fast", "-"),
		faster:   bind("+", "replay: twice as fast", "+", "="),
	}
}

// replay are the keys of a replay in the footer.
func (k keyMap) replay() []key.Binding {
	brief := func(b key.Binding, shown, what string) key.Binding {
		b.SetHelp(shown, what)
		return b
	}
	return []key.Binding{
		brief(k.pause, "space", "pause"), brief(k.seekOn, "←→", "5 s"), brief(k.stepOn, ",.", "step"),
		brief(k.faster, "+-", "speed"),
	}
}

// short are the keys of the footer, with fewer words.
func (k keyMap) short(detail, record bool) []key.Binding {
	brief := func(b key.Binding, shown, what string) key.Binding {
		b.SetHelp(shown, what)
		return b
	}
	pause := brief(k.pause, "p", "pause")
	help := brief(k.help, "?", "help")
	earlier := brief(k.earlier, "PgUp", "earlier events")
	fourth := brief(k.reverse, "S", "reverse")
	if record { // 80 columns have no room for one more
		earlier = brief(k.earlier, "PgUp", "events")
		fourth = brief(k.record, "r", "record")
	}
	if detail {
		keys := []key.Binding{
			brief(k.back, "esc", "back"), brief(k.up, "↑↓", "other flow"), brief(k.span, "z", "time span"), earlier,
		}
		if record {
			keys = append(keys, fourth)
		}
		return append(keys, pause, help)
	}
	return []key.Binding{
		help, brief(k.filter, "/", "filter"), brief(k.sortNext, "s", "sort"), fourth,
		brief(k.open, "enter", "detail"), pause, brief(k.quit, "q", "quit"), brief(k.idle, "e", "idle"),
	}
}

func (k keyMap) full(replay, record bool) [][]key.Binding {
	columns := [][]key.Binding{
		{k.up, k.down, k.pageUp, k.pageDown, k.home, k.end, k.open, k.back, k.quit, k.now, k.suspend},
		{k.sortNext, k.sortBack, k.reverse, k.filter, k.idle, k.pause, k.span, k.glyphs, k.earlier, k.later, k.help},
	}
	if record {
		columns[1] = append(columns[1], k.record)
	}
	if replay {
		columns = append(columns, []key.Binding{k.stepBack, k.stepOn, k.seekBack, k.seekOn, k.slower, k.faster})
	}
	return columns
}
