package plan

import _ "embed"

// Schema is the JSON schema of an experiment's file, for editors. A test compares it with the types
// of this package.
//
//go:embed experiment.schema.json
var Schema []byte
