// Package doctor examines the abilities of the kernel and the machine, and what they mean for each
// verb.
//
// Every check tries the ability itself: it loads a program, attaches it, adds a queueing discipline
// in a network namespace of its own, opens the device. A version number alone decides nothing,
// because distributions and phones carry features over to older kernels and switch them off in
// newer ones. A check undoes its changes before it returns. One trace can remain, on kernels with
// loadable modules: the first use of a feature may load its module.
//
// The files:
//   - registry.go: the checks; each names the verbs that need it
//   - verbs.go: the verbs and the verdict on each
//   - status.go: whether an ability is absent, refused, or may not be tried by this user
//   - report.go, text.go: the report as JSON and as text
package doctor
