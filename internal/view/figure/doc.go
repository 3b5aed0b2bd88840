// Package figure draws the figures of recordings and of experiments, and writes them as PNG, SVG or
// PDF.
//
// A [Figure] describes a picture without colours or places: cells of panels, panels of series,
// marks and rules on axes. A [Theme] decides the colours, so that one description is drawn in
// colour, in print and on dark paper.
//
// Canvases and fonts are those of gonum.org/v1/plot. Axes, legends and panels are drawn here,
// because that library has neither a second y axis, nor a legend outside of the data, nor panels
// that share an x axis.
package figure
