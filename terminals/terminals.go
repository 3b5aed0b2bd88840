// Package terminals holds the profiles of terminals: a YAML file for each device, with its radio, buffers and congestion
// control, and where each value comes from.
package terminals

import "embed"

// Files are the profiles, <name>.yaml.
//
//go:embed *.yaml
var Files embed.FS
