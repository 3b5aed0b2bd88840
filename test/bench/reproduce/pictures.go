package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"airtide/internal/lab/figures"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/report"
	"airtide/internal/view/figure"
)

// ofPaper matches the names of figures that a paper has, too.
var ofPaper = regexp.MustCompile(`^figure\d+$`)

// pictureOptions are for a page that is read on a screen.
var pictureOptions = figure.Options{WidthCm: 14, DPI: 100}

// draw draws the paper's figures into img below dir, and returns Markdown that shows them.
func draw(ctx context.Context, dir string, e *plan.Plan, r *report.Report) (string, error) {
	if err := os.MkdirAll(filepath.Join(dir, "img"), 0o755); err != nil {
		return "", fmt.Errorf("making a folder for figures: %w", err)
	}
	var text strings.Builder
	for _, item := range e.Experiment.Figures {
		if !ofPaper.MatchString(item.Name) {
			continue
		}
		var b bytes.Buffer
		err := figures.Draw(ctx, &b, "png", r, item.Name, pictureOptions)
		if errors.Is(err, figures.ErrNothing) {
			continue // no run of it is finished
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", e.Experiment.Name, err)
		}
		file := e.Experiment.Name + "-" + item.Name + ".png"
		if err := os.WriteFile(filepath.Join(dir, "img", file), b.Bytes(), 0o644); err != nil {
			return "", fmt.Errorf("writing a figure: %w", err)
		}
		fmt.Fprintf(&text, "\n![%s](img/%s)\n", item.Value.Title, file)
	}
	return text.String(), nil
}
