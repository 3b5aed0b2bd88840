// Package trace is the recording's file format: it writes recordings (files ending in .atr) and
// reads them back. No other package knows the bytes. docs/reference/recording.md specifies the
// format for other readers.
//
// A recording is a sequence of blocks, each with a marker, its length and checksums. Every
// undamaged block stays readable, even if the file is damaged or the writing process is killed.
// [Writer] writes a block at least each second. [Reader] finds the next undamaged block behind a
// damaged place and reports the skipped bytes.
//
// A [Writer] is a [tcp.Sink]. [Reader.Scan] delivers a recording to a [tcp.Sink].
package trace

// Extension is the ending of a recording's file name.
const Extension = ".atr"
