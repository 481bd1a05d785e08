package worker

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/starlarkgs/starlarkgs/array"
)

// memory is shared memory that one end writes and the other reads. It grows, and
// its pages stay: fresh ones cost more than the copy.
type memory struct {
	file *os.File
	data []byte
}

func newMemory() (*memory, error) {
	fd, err := unix.MemfdCreate("sgs-worker", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return &memory{file: os.NewFile(uintptr(fd), "sgs-worker")}, nil
}

const leastMemory = 1 << 20

// reserve makes the memory at least n bytes large; only the end that writes may.
func (m *memory) reserve(n int64) error {
	if n <= int64(len(m.data)) {
		return nil
	}
	size := max(leastMemory, int64(len(m.data)))
	for size < n {
		size *= 2
	}
	if err := m.file.Truncate(size); err != nil {
		return fmt.Errorf("shared memory of %d bytes: %w", size, err)
	}
	return m.follow(size)
}

// shrink gives large memory back, whose content is no longer wanted.
func (m *memory) shrink() error {
	const retained = 64 << 20
	if len(m.data) <= retained {
		return nil
	}
	if err := m.file.Truncate(retained); err != nil {
		return fmt.Errorf("shared memory of %d bytes: %w", retained, err)
	}
	return m.follow(retained)
}

// follow maps the memory anew when the other end has changed its size.
func (m *memory) follow(size int64) error {
	if size == int64(len(m.data)) {
		return nil
	}
	data, err := unix.Mmap(int(m.file.Fd()), 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return fmt.Errorf("shared memory of %d bytes: %w", size, err)
	}
	m.unmap()
	m.data = data
	return nil
}

func (m *memory) slice(off, n int64) ([]byte, error) {
	if off < 0 || n < 0 || off > int64(len(m.data))-n {
		return nil, fmt.Errorf("shared memory: got %d bytes at %d, want them within %d", n, off, len(m.data))
	}
	return m.data[off : off+n : off+n], nil
}

// find returns where the bytes of an array begin, if they lie in the memory.
func (m *memory) find(a *array.Array) (int64, bool) {
	if m == nil || len(m.data) == 0 || a.NBytes() == 0 || !a.Loaded() || !a.IsContiguous() {
		return 0, false
	}
	raw, err := a.Bytes()
	if err != nil {
		return 0, false
	}
	first, at := uintptr(unsafe.Pointer(&m.data[0])), uintptr(unsafe.Pointer(&raw[0]))
	if at < first || at >= first+uintptr(len(m.data)) {
		return 0, false
	}
	return int64(at - first), true
}

func (m *memory) unmap() {
	if m.data != nil {
		_ = unix.Munmap(m.data) // nothing can be done about it
		m.data = nil
	}
}

func (m *memory) close() {
	m.unmap()
	_ = m.file.Close()
}
