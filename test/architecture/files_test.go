package architecture

import (
	"os"
	"testing"
)

// root is the top of the repository as seen from this package's folder.
const root = "../.."

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
