// Package show prints results: tables of measurements, claims and their verdicts, and comparisons
// of results, as text, CSV and JSON.
package show
