// Package kmod embeds the sources of the kernel module, so that the static binary can build it on
// the machine where it runs.
package kmod

import "embed"

// Timewarp is the folder timewarp: all that make needs to build timewarp.ko.
//
//go:embed timewarp/Kbuild timewarp/Makefile timewarp/dkms.conf timewarp/*.c timewarp/*.h
var Timewarp embed.FS
