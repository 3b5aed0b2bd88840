// Package allocate shares one access point among terminals: the alpha-fair allocation (J. Mo, J.
// Walrand, "Fair end-to-end window-based congestion control", IEEE/ACM ToN 2000) under two limits.
// It is pure: no clock, no input or output.
//
//	maximise   sum(w_i U(x_i)),  U(x) = x^(1-alpha) / (1-alpha), and ln x where alpha = 1
//	subject to sum(x_i / M_i) <= A   the airtime, of which M_i is what terminal i reaches alone
//	           sum(x_i)       <= C   the wire behind the access point
//	           0 <= x_i <= demand_i
//
// Its optimum has two prices, lambda of airtime and mu of the wire, and each terminal takes what it
// can pay:
//
//	x_i = min(demand_i, (w_i / (lambda/M_i + mu))^(1/alpha))
//
// alpha = 1 is proportional fairness: with the airtime alone equal airtime, with the wire alone
// equal rates. alpha = 0 puts the total first and infinity fairness (max-min). The exponent takes
// the weights' force as alpha grows: at infinity they have none.
//
// # How it is found
//
// Where one limit alone is enough, so that what it gives keeps the other too, that is the optimum.
// Else both bind, and rho = mu/lambda is found by bisection. At a given rho both limits become one,
// sum(x_i (1/M_i + rho)) <= A + rho C, of which the optimum is one level that is raised until all
// is used up ([Solver]). It uses more than C of the wire and less than A of the airtime, or less
// and more, or exactly both: then it is the optimum of the whole.
//
// The bisection converges because that turns over but once. Let x be the optimum at rho, with more
// than C of the wire. At any smaller rho, x leaves something of the joint limit, so the optimum y
// there is better than x. Then y cannot be within the joint limit at rho, where x was the best. It
// is within that at the smaller rho, so what it uses grows with rho: y, too, has more than C of the
// wire. It is done on the logarithm of rho, between ratios beyond which one of the prices is lost
// in rounding. Halving would take some 60 steps. What is used of both goes from one end to the
// other nearly as a logistic curve does, so that secants through its log odds take about ten. For
// alpha = 0 it goes by steps, where two terminals change places: the next rho is where those two do
// that were served last at both ends.
//
// Rates, demands and C are in one unit, whichever.
package allocate
