package control

import "airtide/internal/share/allocate"

// mostExtraWeight bounds the sum of the weights' excess above 1. A single terminal may have
// the greatest weight, 10. More such terminals divide the excess. So a member with ten addresses
// takes as much as ten terminals of weight 1 and one of weight 10, not as much as ten of weight 10.
const mostExtraWeight = 9

// limitWeights scales weights above 1 so that they keep mostExtraWeight. All terminals know the
// same weights, so all scale them alike.
func limitWeights(all []allocate.Terminal) {
	extra := 0.0
	for i := range all {
		extra += max(all[i].Weight-1, 0)
	}
	if extra <= mostExtraWeight {
		return
	}
	for i := range all {
		if w := all[i].Weight; w > 1 {
			all[i].Weight = 1 + (w-1)*mostExtraWeight/extra
		}
	}
}
