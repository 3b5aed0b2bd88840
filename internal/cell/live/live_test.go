package live

import (
	"bytes"
	"encoding/json"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"airtide/internal/cell"
	"airtide/internal/cell/engine"
)

func TestMain(m *testing.M) {
	if engine.IsEngine() {
		os.Exit(engine.Main(cell.Build))
	}
	os.Exit(m.Run())
}

func ownFolder(t *testing.T) {
	before := folder
	folder = t.TempDir()
	t.Cleanup(func() { folder = before })
}

func TestSocketsOfTheDeadAreRemoved(t *testing.T) {
	ownFolder(t)
	const nobody = 1 << 30 // more than there can be processes
	for _, name := range []string{socketOf(ID{nobody, 1}), folder + "/cell-x.sock", folder + "/lab.lock"} {
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

func TestOnlyTheUserEntersTheFolder(t *testing.T) {
	ownFolder(t)
	folder += "/airtide/cell"
	before := unix.Umask(0)
	defer unix.Umask(before)
	for _, mode := range []os.FileMode{0, 0o777} { // the second finds a folder that others may enter
		if mode != 0 {
			if err := os.Chmod(folder, mode); err != nil {
				t.Fatal(err)
			}
		}
		if err := makeFolder(); err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(folder)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("mode %s, %v", info.Mode(), err)
		}
	}
}

func TestAnAnswerThatIsNoneIsAnError(t *testing.T) {
	ownFolder(t)
	l, err := net.Listen("unix", socketOf(ID{os.Getpid(), 1}))
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
	if _, err := Ask(ID{os.Getpid(), 1}); err == nil || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
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
		"name", "pid", "number", "hosts", "window", "engine", "from_ns", "to_ns", "terminals", "airtime_percent", "up",
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
