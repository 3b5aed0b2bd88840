// Package fairness judges the rates of terminals that share an access point. It computes Jain's
// index, Jain's index of the rates over the rates that each terminal reaches alone, the index as
// printed in Matsuno et al. 2021, the total, the airtime used, and the distance from the optimum of
// [airtide/internal/share/allocate]. No single index is enough: equal rates have Jain's index 1,
// equal airtime has the normalised index 1, and the optimum has neither if both airtime and wire
// are limits.
package fairness
