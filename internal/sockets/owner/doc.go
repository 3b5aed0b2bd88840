// Package owner answers whose a socket is and where it lives: the process that holds it
// ([Resolver]), its cgroup ([Cgroups]) and its network namespace ([ParseNetNS], [ListNetNS]). It
// also makes a cgroup for a command ([Group]), by which the command's sockets are told from others.
//
// Everything comes from /proc, the cgroup v2 file system and nsfs, so it needs no privilege beyond
// being allowed to read them: without root only the caller's own processes and their namespaces are
// seen. What could not be read is counted, never guessed.
package owner
