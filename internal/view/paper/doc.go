// Package paper has what all figures share so that they look alike in one paper: the palette, the letters, and how they
// are written as PNG and SVG.
package paper
