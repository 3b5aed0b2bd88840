package live

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"airtide/internal/cell"
	"airtide/internal/cell/engine"
	"airtide/internal/cell/medium"
	"airtide/internal/cell/path"
)

func TestMain(m *testing.M) {
	if engine.IsEngine() {
		os.Exit(engine.Main(cell.Build))
	}
	os.Exit(m.Run())
}

// running starts a cell with a terminal of each kind, answered for in a folder of the test's own.
func running(t *testing.T) *cell.Cell {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
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

func ownFolder(t *testing.T) {
	before := folder
	folder = t.TempDir()
	t.Cleanup(func() { folder = before })
}

func TestARunningCellIsFoundAndTellsOfItself(t *testing.T) {
	c := running(t)
	s, err := Serve("home", c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	pids, err := Find()
	if err != nil || !slices.Equal(pids, []int{os.Getpid()}) {
		t.Fatalf("found cells of %v, %v", pids, err)
	}
	r, err := Ask(os.Getpid())
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
	var table bytes.Buffer
	if err := seen.Table(&table); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(table.String(), "\n")
	for _, line := range lines[2:8] { // under their columns
		if len(line) != len(lines[2]) {
			t.Errorf("%d letters in a line of %d: %s", len(line), len(lines[2]), line)
		}
	}
	if strings.Count(lines[2], "95 %") != 3 {
		t.Errorf("the table has no quantiles: %s", lines[2])
	}
	for _, want := range []string{
		"cell home", "phone  ", "433.3", "desk  Ethernet", "access point", "wire up     100.0",
		"wire down  no limit",
	} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, table.String())
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := Ask(os.Getpid()); err == nil || !strings.Contains(err.Error(), "runs no cell") {
		t.Errorf("after its end: %v", err)
	}
	err = Watch(t.Context(), 0, time.Millisecond, true, func([]*Seen) error {
		return errors.New("something was shown")
	})
	if err == nil || !strings.Contains(err.Error(), "no cell runs here") {
		t.Errorf("after its end: %v", err)
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
		if shown++; shown == 3 {
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

func TestSocketsOfTheDeadAreRemoved(t *testing.T) {
	ownFolder(t)
	const nobody = 1 << 30 // more than there can be processes
	for _, name := range []string{socket(nobody), folder + "/cell-x.sock", folder + "/lab.lock"} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if pids, err := Find(); err != nil || len(pids) != 0 {
		t.Errorf("found %v, %v", pids, err)
	}
	left, err := os.ReadDir(folder)
	if err != nil || len(left) != 2 {
		t.Errorf("%d files are left, %v, want the two that are no cell's", len(left), err)
	}
}

func TestAnAnswerThatIsNoneIsAnError(t *testing.T) {
	ownFolder(t)
	l, err := net.Listen("unix", socket(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err == nil {
			_, _ = conn.Write([]byte("{"))
			conn.Close()
		}
	}()
	if _, err := Ask(os.Getpid()); err == nil || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
		t.Errorf("got %v", err)
	}
}

func TestFieldNamesOfTheJSONStay(t *testing.T) {
	data, err := json.Marshal(
		Seen{Window: &cell.Window{Terminals: []cell.TerminalWindow{{}}}, Engine: &cell.EngineStatus{}},
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"name", "pid", "hosts", "window", "engine", "from_ns", "to_ns", "terminals", "airtime_percent", "up",
		"down", "queue",
		"ap_queue", "collisions_percent", "retries_percent", "aggregation_frames", "aggregation_median_frames",
		"aggregation_p95_frames", "aggregation_max_frames", "p95_packets", "max_packets", "rate_mbps",
		"backlog_packets", "mean_packets",
		"sojourn", "median_ms", "p95_ms", "p99_ms", "drops", "station_queue_packets", "ap_queue_packets",
		"retry_limit_packets",
		"wire_queue_packets", "path_packets", "wire_up", "wire_down", "lag", "lag_exceeded", "p999_ns", "sent_mbps",
		"received_mbps",
	} {
		if !bytes.Contains(data, []byte(`"`+name+`":`)) {
			t.Errorf("the JSON has no field %s: %s", name, data)
		}
	}
}
