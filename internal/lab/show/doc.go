// Package show prints reports and comparisons of results as text, CSV and JSON, and lists results
// as text.
package show
