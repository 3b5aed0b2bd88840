// Package owner finds the process that holds a socket ([Resolver]), the socket's cgroup ([Cgroups])
// and its network namespace ([ParseNetNS], [ListNetNS]). It also makes a cgroup for a command
// ([Group]), to distinguish the command's sockets from others.
//
// Everything is read from /proc, the cgroup v2 file system and nsfs, so the package needs only the
// right to read them. Without root it sees only the caller's own processes and their namespaces.
// Unreadable entries are counted, never guessed.
package owner
