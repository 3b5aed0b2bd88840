package result

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"airtide/internal/cell"
	"airtide/internal/sys/file"
)

// SeriesFile is the usual name of a run's time series.
const SeriesFile = "cell.jsonl"

// Series writes windows as JSON lines.
type Series struct {
	file    *file.Output
	path    string
	buffer  *bufio.Writer
	encoder *json.Encoder
}

// CreateSeries creates a file for a time series.
func CreateSeries(path string) (*Series, error) {
	f, err := file.Create(path, false)
	if err != nil {
		return nil, fmt.Errorf("creating a time series: %w", err)
	}
	if err := f.Publish(); err != nil { // a killed run keeps its windows until then
		f.Discard()
		return nil, fmt.Errorf("creating a time series: %w", err)
	}
	b := bufio.NewWriterSize(f, 1<<16)
	return &Series{file: f, path: path, buffer: b, encoder: json.NewEncoder(b)}, nil
}

// Add appends a window.
func (s *Series) Add(w *cell.Window) error {
	if err := s.encoder.Encode(w); err != nil {
		return fmt.Errorf("writing the time series %s: %w", s.path, err)
	}
	return nil
}

// Close writes the buffered data and syncs the file.
func (s *Series) Close() error {
	if err := errors.Join(s.buffer.Flush(), s.file.Sync(), s.file.Close()); err != nil {
		return fmt.Errorf("writing the time series %s: %w", s.path, err)
	}
	return nil
}

// maxSeriesBytes limits a time series. An hour of 20 terminals has about 250 MB.
const maxSeriesBytes = 512 << 20

// ReadSeries reads a file written by Series. After an error it also returns the windows before it.
func ReadSeries(ctx context.Context, path string) ([]*cell.Window, error) {
	f, err := file.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening a time series: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > maxSeriesBytes {
		return nil, fmt.Errorf("opening a time series: %w", &file.TooLargeError{Path: path, Limit: maxSeriesBytes})
	}
	d := json.NewDecoder(bufio.NewReaderSize(f, 1<<16))
	var all []*cell.Window
	for {
		if err := ctx.Err(); err != nil {
			return all, err
		}
		w := new(cell.Window)
		switch err := d.Decode(w); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return all, fmt.Errorf("reading the time series %s, window %d: %w", path, len(all)+1, err)
		}
		all = append(all, w)
	}
}
