package show

// Progress is told how far something is that may take long: what is being done, and which of how many it is at. It may be
// nil.
type Progress func(doing string, number, of int)

func (p Progress) tell(doing string, number, of int) {
	if p != nil {
		p(doing, number, of)
	}
}
