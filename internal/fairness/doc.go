// Package fairness says how rates of terminals that share an access point are to be judged: Jain's
// index, Jain's index of the rates over what each terminal reaches alone, the index that P4 prints,
// the total, the airtime used, and the distance from the optimum of
// [airtide/internal/share/allocate]. No single index says what is good: equal rates have Jain's
// index 1, equal airtime has the normalised one, and the optimum lies at neither where airtime and
// wire both bind.
package fairness
