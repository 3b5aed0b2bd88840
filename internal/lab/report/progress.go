package report

// Progress is called at each step of a long task, with its name, its number, and the number of
// steps. It may be nil.
type Progress func(doing string, number, of int)

func (p Progress) report(doing string, number, of int) {
	if p != nil {
		p(doing, number, of)
	}
}
