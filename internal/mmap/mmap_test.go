package mmap

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"testing"
	"time"
)

func tempFile(t *testing.T, size int) (string, []byte) {
	t.Helper()
	data := make([]byte, size)
	for i := range data {
		data[i] = byte(i * 7)
	}
	path := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path, data
}

func TestSection(t *testing.T) {
	path, data := tempFile(t, 100_000)
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range [][2]int64{{0, 100_000}, {1, 50_001}, {99_999, 1}, {100_000, 0}, {4096, 4096}} {
		s, err := f.Section(r[0], r[1])
		if err != nil {
			t.Fatalf("Section(%d, %d): %v", r[0], r[1], err)
		}
		want := data[r[0] : r[0]+r[1]]
		s.WillRead()
		b, err := s.Bytes()
		if err != nil || !bytes.Equal(b, want) {
			t.Errorf("Section(%d, %d).Bytes() differs, error %v", r[0], r[1], err)
		}
		s.WillRead()
		got, err := io.ReadAll(io.NewSectionReader(s, 0, s.Len()))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("Section(%d, %d) reads otherwise, error %v", r[0], r[1], err)
		}
		if n, err := s.ReadAt(make([]byte, 10), s.Len()); n != 0 || err != io.EOF {
			t.Errorf("ReadAt(end) = %d, %v, want 0, EOF", n, err)
		}
	}
	for _, r := range [][2]int64{{0, 100_001}, {-1, 1}, {1, -1}, {100_001, 0}, {1, 1<<63 - 1}, {1<<63 - 1, 1}} {
		if _, err := f.Section(r[0], r[1]); err == nil {
			t.Errorf("Section(%d, %d): got no error", r[0], r[1])
		}
	}
}

func TestEmptyFile(t *testing.T) {
	path, _ := tempFile(t, 0)
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Section(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := s.Bytes(); err != nil || len(b) != 0 {
		t.Errorf("Bytes() = %v, %v", b, err)
	}
}

func TestNotRegular(t *testing.T) {
	if _, err := Open(t.TempDir()); !errors.Is(err, ErrNotRegular) {
		t.Errorf("Open(folder): got %v, want ErrNotRegular", err)
	}
}

func TestCutFile(t *testing.T) {
	path, _ := tempFile(t, 1<<20)
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Section(0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if goruntime.GOOS == "windows" {
		t.Skip("a mapped file can't be cut here")
	}
	if err := os.Truncate(path, 10); err != nil {
		t.Fatal(err)
	}
	sum := 0
	err = Guard(func() error {
		for _, c := range b {
			sum += int(c)
		}
		return nil
	})
	if !errors.Is(err, ErrFault) {
		t.Errorf("reading a cut file: got %v, want ErrFault", err)
	}
	_, err = s.ReadAt(make([]byte, 100), 0)
	if !errors.Is(err, io.ErrUnexpectedEOF) || !strings.Contains(err.Error(), "90 bytes are missing at offset 10") {
		t.Errorf("ReadAt of a cut file: got %v", err)
	}
}

func TestGuardPassesBugs(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a nil pointer's panic did not pass")
		}
	}()
	_ = Guard(func() error {
		var p *[3]int
		p[1] = 2
		return nil
	})
}

// TestFreed checks that a mapping goes when nothing refers to its File.
func TestFreed(t *testing.T) {
	if goruntime.GOOS != "linux" {
		t.Skip("needs /proc/self/maps")
	}
	defer func(d time.Duration) { unmapDelay = d }(unmapDelay)
	unmapDelay = 0
	path, _ := tempFile(t, 8192)
	func() {
		f, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := f.Section(0, 8192)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Bytes(); err != nil {
			t.Fatal(err)
		}
		if !mapped(t, path) {
			t.Fatal("the file is not mapped")
		}
		goruntime.KeepAlive(s)
	}()
	for range 100 {
		goruntime.GC()
		if !mapped(t, path) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the file is still mapped")
}

func mapped(t *testing.T, path string) bool {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(maps), path)
}
