package plan

import "testing"

// BenchmarkRead checks and plans a file with every part and eight points.
func BenchmarkRead(b *testing.B) {
	for b.Loop() {
		if _, err := Read(b.Context(), "whole.yaml", []byte(wholeFile)); err != nil {
			b.Fatal(err)
		}
	}
}
