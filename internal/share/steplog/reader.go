package steplog

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"airtide/internal/share/control"
	"airtide/internal/sys/file"
)

// Handler receives recorded sessions and steps in order.
type Handler struct {
	Begin func(control.Config)
	Step  func(now time.Duration, in control.Inputs, out control.Outputs) error
}

// Replay reads a recording. If it was cut off, for example by a killed agent, Replay ends with its
// last whole line.
func Replay(path string, h Handler) error {
	log, err := file.Open(path)
	if err != nil {
		return fmt.Errorf("reading a step log: %w", err)
	}
	defer log.Close()
	if err := replay(log, h); err != nil {
		return fmt.Errorf("reading step log %s: %w", path, err)
	}
	return nil
}

func replay(r io.Reader, h Handler) error {
	zip, err := gzip.NewReader(r)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(zip)
	var known peers
	for {
		var e entry
		switch err := decoder.Decode(&e); {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		case e.Session != nil:
			c, err := e.Session.config()
			if err != nil {
				return err
			}
			known = peers{}
			h.Begin(c)
		case known == nil || e.In == nil || e.Out == nil:
			return errors.New("a step without its session, inputs or outputs")
		default:
			e.In.Peers = known.apply(e.In.Peers, e.Gone)
			if err := h.Step(e.Now, *e.In, *e.Out); err != nil {
				return err
			}
		}
	}
}
