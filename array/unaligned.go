//go:build amd64 || arm64

package array

// ReadsUnaligned tells that the processor reads elements at any address.
const ReadsUnaligned = true
