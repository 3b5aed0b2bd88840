// Package show presents results: tables and claims of one result (text, JSON, CSV), the figures of its experiment and the
// time series of its runs (PNG, SVG), and the difference between results. It reads folders of package result and writes
// only where it is told to; all figures are of finished, valid runs, and what is missing is said.
package show
