// Package privilege gives up the rights of this process that its work does not need any more:
// capabilities, new rights by execve, system calls (seccomp) and files (Landlock). A fault in the
// rest of the work then reaches less of the machine.
//
// Everything holds for all threads of the process and cannot be taken back. A kernel without
// seccomp or Landlock is used without; Available tells doctor about it.
package privilege
