// Package allocate computes the alpha-fair allocation of one access point (J. Mo, J. Walrand, "Fair
// end-to-end window-based congestion control", IEEE/ACM ToN 2000) under two limits. It has no clock
// and no I/O.
//
//	maximise   sum(w_i U(x_i)),  U(x) = x^(1-alpha) / (1-alpha), ln x for alpha = 1
//	subject to sum(x_i / M_i) <= A   airtime; M_i is the standalone rate of terminal i
//	           sum(x_i)       <= C   the wire behind the access point
//	           0 <= x_i <= demand_i
//
// The optimum has two prices, lambda for airtime and mu for the wire:
//
//	x_i = min(demand_i, (w_i / (lambda/M_i + mu))^(1/alpha))
//
// alpha = 1 is proportional fairness: equal airtime if only the airtime limits, equal rates if only
// the wire limits. alpha = 0 maximises the total, infinity is max-min fairness. Weights lose their
// effect as alpha grows. Rates, demands and C share one unit.
//
// # Algorithm
//
// If the optimum under one limit keeps the other limit, it is the optimum. Otherwise both limits
// bind, and bisection finds rho = mu/lambda. For a given rho the limits are replaced by their joint
// limit, sum(x_i (1/M_i + rho)) <= A + rho C, whose optimum is found by raising one level until the
// budget is spent ([Solver]). That optimum uses too much of one limit and too little of the other,
// or exactly both: then it is the solution.
//
// Bisection converges because the sign changes only once. Let x be the optimum at rho and let it
// use more than C. At a smaller rho, x leaves a part of the joint limit unused, so the optimum y
// there is better than x. Then y exceeds the joint limit at rho, where x was the best, but not at
// the smaller rho. So y also uses more than C.
//
// The search runs on the logarithm of rho, between the ratios at which one price is lost in
// rounding. Bisection would take about 60 steps. As a function of log rho, the use of the limits is
// nearly a logistic curve, so secants through its log odds take about ten steps. For alpha = 0 the
// use is a step function: a step is where two terminals change their order, and the search tries
// the terminals that were served last at both ends.
package allocate
