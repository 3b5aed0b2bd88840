// Package vm boots virtual machines that serve as terminals: a kernel of Debian's under qemu, with
// this program as its only process at first and no disk.
//
// Its duties:
//   - Debian's kernels, fetched and unpacked into a cache: kernel.go, fetch.go, headers.go, package.go, root.go
//   - what a guest starts with, in an initramfs: programs and their libraries, modules and those that they need: image.go,
//     cpio.go, program.go, module.go
//   - qemu, by KVM where that works and by emulation elsewhere: qemu.go, accelerator.go
//   - the guest from outside: commands, files, its clock: guest.go, process.go
//   - what its kernel says when something is wrong: complaint.go
//   - the guest from inside, as process 1: inside.go, mount.go, network.go, serve.go
//   - what the two say to each other over a virtio-serial port: frame.go
//
// Nothing of a guest is left when its process here ends, whatever ends it: it has no files, and the
// kernel ends qemu.
package vm
