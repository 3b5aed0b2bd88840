// Package read reads captures of packets as a stream: pcap and pcapng, plain or compressed by gzip
// or zstd, from a file or from standard input. Memory does not grow with the capture.
package read
