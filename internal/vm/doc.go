// Package vm boots virtual machines that serve as terminals. Each runs a kernel of Debian under
// qemu, without a disk, with this program as its first process.
//
// Its duties:
//   - Debian's kernels, fetched and unpacked into a cache: kernel.go, fetch.go, headers.go,
//     package.go, root.go
//   - what a guest starts with, in an initramfs: programs and their libraries, modules and those that they need: image.go,
//     cpio.go, program.go, module.go
//   - qemu, by KVM where that works and by emulation elsewhere: qemu.go, accelerator.go
//   - the guest from outside: commands, files, its clock: guest.go, process.go
//   - messages of its kernel about faults: problem.go
//   - the first process of the guest: guestmain.go, mount.go, network.go, serve.go
//   - messages between host and guest over a virtio-serial port: frame.go
//
// Nothing of a guest outlives this process: it has no files, and the kernel ends qemu.
package vm
