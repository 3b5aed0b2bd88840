// Package thread runs functions on threads of their own, where they may enter namespaces.
package thread

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// Do runs f on a thread of its own, which ends with it, and returns f's error.
func Do(f func() error) error {
	result := make(chan error, 1)
	Go(func() { result <- f() })
	return <-result
}

// Go starts f on a thread of its own, which ends with it. It is never the main thread: the runtime
// would keep that one, and its namespaces are those that others see as the process's.
func Go(f func()) {
	away := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			Go(func() { close(away); f() })
			<-away // the main thread is kept until the other has one
			runtime.UnlockOSThread()
			return
		}
		f() // stays locked, so the runtime ends the thread
	}()
}
