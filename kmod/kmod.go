// Package kmod holds the sources of the kernel modules, so that the static binary can build them where it runs.
package kmod

import "embed"

// Timewarp is the folder timewarp: all that make needs to build timewarp.ko.
//
//go:embed timewarp/Kbuild timewarp/Makefile timewarp/dkms.conf timewarp/*.c timewarp/*.h
var Timewarp embed.FS
