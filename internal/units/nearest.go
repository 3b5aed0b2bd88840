package units

// Nearest returns the word most similar to the found one, for "did you mean". It is empty if none
// is similar: up to a third of the letters may be wrong, and one more, but never all of a word.
func Nearest(found string, possible []string) string {
	best := ""
	least := 2 + len(found)/3
	for _, p := range possible {
		if d := editDistance(found, p); d < least && d < len(p) {
			best = p
			least = d
		}
	}
	return best
}

// editDistance counts the letters to insert, remove or replace between two words (Levenshtein
// distance).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
