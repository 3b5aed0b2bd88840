//go:build kernel

package live

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"airtide/internal/cell"
	"airtide/internal/cell/medium"
	"airtide/internal/cell/path"
	"airtide/test/need"
)

// running starts a cell with a terminal of each kind, answered for in a folder of the test's own.
func running(t *testing.T) *cell.Cell {
	t.Helper()
	need.Root(t)
	ownFolder(t)
	phy, err := medium.AtRate(medium.Std11ac, 80, 1, 433.3)
	if err != nil {
		t.Fatal(err)
	}
	c, err := cell.Start(t.Context(), cell.Config{
		Terminals: []cell.Terminal{
			{Name: "phone", Radio: &cell.Radio{PHY: []cell.PHYStep{{PHY: phy}}}}, {Name: "desk"},
		},
		Servers: []cell.Server{{Name: "server"}}, WireUp: []cell.WireStep{{Wire: path.Wire{RateBps: 1e8}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Stop() })
	if err := c.Begin(); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestARunningCellIsFoundAndTellsOfItself(t *testing.T) {
	c := running(t)
	s, err := Serve("home", c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ids, err := Find()
	if err != nil || len(ids) != 1 || ids[0].PID != os.Getpid() {
		t.Fatalf("found cells %v, %v", ids, err)
	}
	r, err := Ask(ids[0])
	if err != nil {
		t.Fatal(err)
	}
	if r.Name != "home" || len(r.Hosts) != 3 || r.Hosts[0].Namespace == "" || len(r.Status.Terminals) != 2 {
		t.Errorf("it says %+v", r)
	}
	var seen *Seen
	err = Watch(t.Context(), 0, 10*time.Millisecond, true, func(all []*Seen) error {
		seen = all[0]
		return nil
	})
	if err != nil || seen == nil || seen.Window.ToNs <= seen.Window.FromNs {
		t.Fatalf("seen %+v, %v", seen, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Ask(ids[0]); err == nil || !strings.Contains(err.Error(), "runs no cell") {
		t.Errorf("after its end: %v", err)
	}
	err = Watch(t.Context(), 0, time.Millisecond, true, func([]*Seen) error {
		return errors.New("something was shown")
	})
	if err == nil || !strings.Contains(err.Error(), "no cell runs here") {
		t.Errorf("after its end: %v", err)
	}
}

func TestOneProcessServesSeveralCellsAtOnce(t *testing.T) {
	c := running(t)
	const cells = 8
	var all sync.WaitGroup
	for i := range cells {
		all.Go(func() {
			s, err := Serve(fmt.Sprint("cell ", i), c)
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(func() { _ = s.Close() })
		})
	}
	all.Wait()
	err := Watch(t.Context(), os.Getpid(), 10*time.Millisecond, true, func(seen []*Seen) error {
		names := map[string]bool{}
		for _, s := range seen {
			names[s.Name] = true
		}
		if len(names) != cells {
			t.Errorf("saw %v, want %d cells", names, cells)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestWatchingEndsWithItsContextAndWithItsCell(t *testing.T) {
	c := running(t)
	s, err := Serve("home", c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	shown := 0
	if err := Watch(ctx, 0, time.Millisecond, false, func([]*Seen) error {
		shown++
		if shown == 3 {
			cancel()
		}
		return nil
	}); err != nil || shown < 3 {
		t.Errorf("shown %d times, then %v", shown, err)
	}
	err = Watch(t.Context(), 0, time.Millisecond, false, func([]*Seen) error { return c.Stop() })
	if err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("when the cell ended: %v", err)
	}
}
