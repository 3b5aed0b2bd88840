// Package units reads and prints rates, sizes, durations and shares.
//
// The same grammar holds for flags, experiment files and arguments:
//
//	number   = digits [ "." digits ] [ ( "e" | "E" ) [ "+" | "-" ] digits ]
//	rate     = number ( [ k | M | G | T ] ( "bit/s" | "bit" | "bps" ) | k | M | G | T )
//	size     = number ( B | kB | MB | GB | KiB | MiB | GiB )
//	duration = ( number ( ns | us | µs | ms | s | m | min | h ) )+
//	share    = number "%" | number
//
// Spaces may stand between a number and its unit. Zero needs no unit. Numbers have no sign.
// Printed values have a space before the unit.
package units
