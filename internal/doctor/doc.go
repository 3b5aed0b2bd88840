// Package doctor examines what the kernel and the machine can do, and what that means for each verb.
//
// Every check tries the thing itself: it loads a program, attaches it, adds a queueing discipline in a network
// namespace of its own, opens the device. A version number alone decides nothing, because distributions and phones
// carry features over to older kernels and switch them off in newer ones. What was made is closed again before the
// check returns. Only one trace can be left, on kernels with loadable modules: what is tried for the first time may
// load its module, as any first use does.
//
// Its duties:
//   - the registry of checks: registry.go and the tables that it joins; each entry says which verbs need it
//   - the table of verbs and the verdict on each: verbs.go
//   - telling apart what is absent, what is refused, and what this user may not even try: status.go
//   - the report as text and as JSON: report.go, text.go
package doctor
