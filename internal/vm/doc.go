// Package vm boots virtual machines that serve as terminals. Each runs a kernel of Debian under
// qemu, without a disk, with this program as its first process.
//
// Its duties:
//   - Debian's kernels, fetched and unpacked into a cache: kernel.go, fetch.go, headers.go,
//     package.go, root.go
//   - the guest's initramfs, with programs, libraries and modules and their dependencies: image.go,
//     cpio.go, program.go, module.go
//   - qemu, by KVM if it works and by emulation otherwise: qemu.go, accelerator.go
//   - the guest from outside: commands, files, its clock: guest.go, process.go
//   - messages of its kernel about faults: problem.go
//   - the first process of the guest: guestmain.go, mount.go, network.go, serve.go
//   - messages between host and guest over a virtio-serial port: frame.go
//
// A guest ends with this process and leaves no files: the kernel ends qemu.
package vm
