// Package probe agrees with the peers on times in which all send differently, so that something can
// be measured. It knows nothing of what is measured. It is pure: time is passed in.
//
// There are three kinds. In a rate probe one terminal sends alone. In an RTT probe all keep a few
// packets in flight. In a release probe nobody is bounded.
package probe
