package onnx

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

// The checksum of an external_data entry is, by the standard, the SHA-1 of the
// whole file. It tells a damaged file, not a malicious one.

// expect records the checksum that an entry gives for the file.
func (f *externalFile) expect(sum string) error {
	if sum == "" {
		return nil
	}
	sum = strings.ToLower(sum)
	if raw, err := hex.DecodeString(sum); err != nil || len(raw) != sha1.Size {
		return faultf(ErrExternal, "external data %q: got the checksum %q, want the %d hexadecimal digits of a SHA-1", f.location, sum, 2*sha1.Size)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.checksum != "" && f.checksum != sum {
		return faultf(ErrExternal, "external data %q: got two checksums for one file, %s and %s", f.location, f.checksum, sum)
	}
	f.checksum = sum
	return nil
}

// verify compares the file with its checksum, once, before its first byte is
// given out.
func (f *externalFile) verify() error {
	if f.checksum == "" || f.verified {
		return nil
	}
	h := sha1.New()
	if _, err := io.CopyBuffer(h, io.NewSectionReader(f.file, 0, f.file.Size()), make([]byte, copyChunk)); err != nil {
		return err
	}
	if got := fmt.Sprintf("%x", h.Sum(nil)); got != f.checksum {
		return faultf(ErrExternal, "external data: got a file with the checksum %s, want %s: it is damaged, or another one", got, f.checksum)
	}
	f.verified = true
	return nil
}
