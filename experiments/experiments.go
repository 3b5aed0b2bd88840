// Package experiments holds the experiments that come with airtide: a YAML file for each.
package experiments

import "embed"

// Files are the experiments, <name>.yaml.
//
//go:embed *.yaml
var Files embed.FS
