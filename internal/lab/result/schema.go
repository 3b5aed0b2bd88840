package result

import _ "embed"

// Schema is the JSON schema of result.json. A test compares it with the types of this package.
//
//go:embed result.schema.json
var Schema []byte
