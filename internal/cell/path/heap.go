package path

// heap is a heap with four branches, the earliest event first. Four children lie in few cache
// lines, so it is faster than one with two.
type heap []event

func (h heap) up(i int) {
	e := h[i]
	for i > 0 {
		parent := (i - 1) / 4
		if !e.before(&h[parent]) {
			break
		}
		h[i] = h[parent]
		i = parent
	}
	h[i] = e
}

func (h heap) down(i int) {
	e := h[i]
	for {
		first := 4*i + 1
		if first >= len(h) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(h)); c++ {
			if h[c].before(&h[least]) {
				least = c
			}
		}
		if !h[least].before(&e) {
			break
		}
		h[i] = h[least]
		i = least
	}
	h[i] = e
}

func (h *heap) push(e event) {
	*h = append(*h, e)
	h.up(len(*h) - 1)
}

func (h *heap) pop() event {
	old := *h
	top := old[0]
	last := len(old) - 1
	old[0] = old[last]
	old[last] = event{}
	*h = old[:last]
	if last > 0 {
		h.down(0)
	}
	return top
}

// replaceTop is a pop and a push in one.
func (h heap) replaceTop(e event) {
	h[0] = e
	h.down(0)
}

// heapify brings events in any order into a heap's.
func (h heap) heapify() {
	for i := (len(h) - 2) / 4; i >= 0 && len(h) > 1; i-- {
		h.down(i)
	}
}
