package result

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"airtide/internal/cell"
	"airtide/internal/lab/plan"
)

func TestResultComesBackAsItWas(t *testing.T) {
	r := whole(t)
	path := filepath.Join(t.TempDir(), "result.json")
	if err := writeJSON(path, r); err != nil {
		t.Fatal(err)
	}
	back, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	// NaN is not equal to itself.
	if !math.IsNaN(back.Measurements["goodput"].Each[1]) {
		t.Errorf("a missing value came back as %v", back.Measurements["goodput"].Each)
	}
	first, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(back)
	if err != nil || string(first) != string(again) {
		t.Errorf("got\n%s\nwant\n%s (%v)", again, first, err)
	}
	back.Measurements = nil
	r.Measurements = nil
	if !reflect.DeepEqual(back, r) {
		t.Errorf("got\n%+v\nwant\n%+v", back, r)
	}
}

func TestResultIsReadForTheJudge(t *testing.T) {
	run := whole(t).Judged()
	if p := run.Point["rtt"]; p.Text != "16 ms" || p.Number != 0.016 {
		t.Errorf("rtt is %+v", p)
	}
	if v := run.Values["total"]; len(v) != 1 || v[0] != 32 {
		t.Errorf("total is %v, want 32", v)
	}
	if v, ok := run.Values["goodput"]; ok {
		t.Errorf("goodput is %v, though one of its values is missing", v)
	}
}

func TestMeasurementTakesItsValuesTogether(t *testing.T) {
	for _, c := range []struct {
		take plan.Take
		each []float64
		want []float64
	}{
		{plan.Each, []float64{3, 1, 2}, []float64{3, 1, 2}},
		{plan.Sum, []float64{3, 1, 2}, []float64{6}},
		{plan.Mean, []float64{3, 1, 2}, []float64{2}},
		{plan.Min, []float64{3, 1, 2}, []float64{1}},
		{plan.Max, []float64{3, 1, 2}, []float64{3}},
		{plan.Median, []float64{3, 1, 2}, []float64{2}},
		{plan.Median, []float64{3, 1, 2, 10}, []float64{2.5}},
		{plan.Sum, nil, nil},
		{plan.Max, []float64{3, math.NaN()}, []float64{math.NaN()}},
	} {
		of := make([]string, len(c.each))
		m := NewMeasurement(plan.Measurement{Quantity: "goodput", Take: c.take}, of, c.each)
		same := len(m.Values) == len(c.want)
		for i := range c.want {
			same = same && (m.Values[i] == c.want[i] || math.IsNaN(m.Values[i]) && math.IsNaN(c.want[i]))
		}
		if !same || m.Unit != "Mbit/s" {
			t.Errorf("%s of %v: got %v %s, want %v", c.take, c.each, m.Values, m.Unit, c.want)
		}
	}
}

func TestUnreadableResultsAreNamed(t *testing.T) {
	good, err := json.MarshalIndent(whole(t), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	replaced := func(old, now string) string {
		if !strings.Contains(string(good), old) {
			t.Fatalf("the result has no %s", old)
		}
		return strings.Replace(string(good), old, now, 1)
	}
	for name, c := range map[string]struct {
		data string
		says []string
	}{
		"empty":   {"", []string{"result.json", "not readable as a result"}},
		"cut off": {string(good[:len(good)/2]), []string{"result.json:", "unexpected end"}},
		"zeros":   {strings.Repeat("\x00", 100), []string{"result.json:1:1", "not readable"}},
		"of the future": {
			replaced(`"version": 1`, `"version": 7`), []string{"result.json", "version 7", "newer airtide"},
		},
		"future, other": {`{"version": 2, "run": {"id": 3}}`, []string{"version 2", "newer airtide"}},
		"no version":    {replaced(`"version": 1`, `"version": 0`), []string{"found no version"}},
		"wrong type":    {replaced(`"repeat": 2`, `"repeat": "two"`), []string{"result.json:15:", "repeat"}},
		"no run":        {replaced(`"run": "rtt=16ms,r=2"`, `"run": ""`), []string{"does not name"}},
		"no repeat":     {replaced(`"repeat": 2`, `"repeat": -2`), []string{"found repeat -2"}},
		"backward":      {replaced(`"ended": "2026`, `"ended": "2025`), []string{"before it started"}},
		"values missing": {
			replaced(`"upload2"`, `"upload2", "upload3"`), []string{"measurement goodput: 2 values of 3"},
		},
		"file elsewhere": {
			replaced(`"phone.airtide"`, `"../../../etc/passwd"`),
			[]string{`"../../../etc/passwd"`, "in the run's folder"},
		},
		"series away": {replaced(`"cell.jsonl"`, `"/etc/passwd"`), []string{`"/etc/passwd"`}},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "result.json")
			if err := os.WriteFile(path, []byte(c.data), 0o644); err != nil {
				t.Fatal(err)
			}
			r, err := Read(path)
			if r != nil {
				t.Errorf("got %+v", r)
			}
			says(t, err, append(c.says, path)...)
		})
	}
}

// A later airtide may add fields without a new version.
func TestUnknownFieldsAreLeftAlone(t *testing.T) {
	data, err := json.Marshal(whole(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Decode("result.json", []byte(`{"phase_of_moon": "full",`+string(data[1:]))); err != nil {
		t.Error(err)
	}
}

func TestSeriesComesBackAsItWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), SeriesFile)
	s, err := CreateSeries(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(100) {
		if err := s.Add(&cell.Window{FromNs: i * 1e8, ToNs: (i + 1) * 1e8}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	windows, err := ReadSeries(t.Context(), path)
	if err != nil || len(windows) != 100 || windows[99].ToNs != 1e10 {
		t.Errorf("got %d windows, %v", len(windows), err)
	}
	if _, err := CreateSeries(path); err == nil {
		t.Error("a series was overwritten")
	}
	if err := os.Truncate(path, 5000); err != nil {
		t.Fatal(err)
	}
	windows, err = ReadSeries(t.Context(), path)
	if len(windows) == 0 || len(windows) >= 100 {
		t.Errorf("a series that was cut off gave %d windows", len(windows))
	}
	says(t, err, path, "window")
}

// Whatever a file holds, reading it ends with a result that can be written again, or with an error
// that names the file.
func FuzzDecode(f *testing.F) {
	p, err := plan.Read(f.Context(), "small.yaml", []byte(small))
	if err != nil {
		f.Fatal(err)
	}
	for _, run := range p.Runs {
		r := made(p, run)
		r.Ended = r.Started.Add(time.Second)
		r.Attempt = 1
		data, err := json.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)-1])
	}
	f.Add([]byte(`{"version": 2}`))
	f.Add([]byte(`{"version": 1, "measurements": {"a": {"values": [null, 1e308], "each": null}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Decode("the-file", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "the-file") {
				t.Errorf("the error does not name the file: %v", err)
			}
			return
		}
		again, err := json.Marshal(r)
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		if _, err := Decode("the-file", again); err != nil {
			t.Errorf("what was written cannot be read: %v\n%s", err, again)
		}
		r.Judged()
	})
}
