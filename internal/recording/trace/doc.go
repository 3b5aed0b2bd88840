// Package trace is the recording's format on disk: it writes recordings (files ending in .atr) and
// reads them back, and is the only place that knows their bytes. docs/reference/recording.md
// specifies the format for other readers.
//
// A recording is a sequence of blocks, each with a marker, its length and checksums, so that
// whatever happens to the file or to the process that writes it, every whole block stays readable:
// [Writer] puts a block out at least each second, and [Reader] finds the next whole block behind a
// damaged place and says what it had to skip.
//
// A [Writer] is a [tcp.Sink], and [Reader.Scan] drives one.
package trace

// Extension is the ending of a recording's file name.
const Extension = ".atr"
