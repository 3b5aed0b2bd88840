// Package doctor examines the abilities of the kernel and the machine, and derives a verdict for
// each verb.
//
// Every check tries the ability itself: it loads a program, attaches it, adds a queueing discipline
// in a scratch network namespace, opens the device. A version number alone decides nothing, because
// distributions and phones port features to older kernels and disable them in newer kernels. A
// check undoes its changes before it returns. One trace can remain on kernels with loadable
// modules: the first use of a feature may load its module.
//
// The files:
//   - registry.go: the checks; each names the verbs that need it
//   - verbs.go: the verbs and the verdict on each
//   - status.go: the outcome of a check: absent, refused, or not permitted for this user
//   - report.go, text.go: the report as JSON and as text
package doctor
