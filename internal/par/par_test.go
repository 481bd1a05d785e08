package par

import (
	"errors"
	"os"
	"path/filepath"
	goruntime "runtime"
	"sync/atomic"
	"testing"

	"github.com/starlarkgs/starlarkgs/internal/mmap"
)

func TestForCoversEachOnce(t *testing.T) {
	for _, n := range []int{-1, 0, 1, 7, 1000} {
		for _, grain := range []int{-1, 0, 3, 5000} {
			seen := make([]atomic.Int32, max(n, 0))
			For(n, grain, func(lo, hi int) {
				if lo >= hi {
					t.Errorf("n=%d, grain=%d: an empty part [%d, %d)", n, grain, lo, hi)
				}
				for i := lo; i < hi; i++ {
					seen[i].Add(1)
				}
			})
			for i := range seen {
				if got := seen[i].Load(); got != 1 {
					t.Errorf("n=%d, grain=%d: iteration %d ran %d times, want once", n, grain, i, got)
				}
			}
		}
	}
}

func TestForKeepsGrain(t *testing.T) {
	For(100, 40, func(lo, hi int) {
		if hi-lo < 40 {
			t.Errorf("a part [%d, %d), want at least 40 iterations", lo, hi)
		}
	})
}

// several makes For start goroutines, on a machine with one processor too.
func several(t *testing.T) {
	t.Helper()
	before := goruntime.GOMAXPROCS(4)
	t.Cleanup(func() { goruntime.GOMAXPROCS(before) })
}

func TestForRaisesPanics(t *testing.T) {
	several(t)
	boom := errors.New("boom")
	for name, n := range map[string]int{"goroutines": 100, "the caller": 1} {
		t.Run(name, func(t *testing.T) {
			var ended atomic.Int32
			defer func() {
				if r := recover(); r != boom {
					t.Errorf("recovered %v, want the value of the panic", r)
				}
				if n > 1 && ended.Load() != 3 {
					t.Errorf("%d other parts had ended, want 3", ended.Load())
				}
			}()
			For(n, 1, func(lo, _ int) {
				if lo == 0 {
					panic(boom)
				}
				ended.Add(1)
			})
			t.Error("For returned")
		})
	}
}

// cutFile returns the mapped bytes of a file that has since been cut.
func cutFile(t *testing.T) []byte {
	t.Helper()
	if goruntime.GOOS == "windows" {
		t.Skip("Windows does not let a mapped file be cut")
	}
	path := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(path, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := mmap.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Section(0, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	data, err := s.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { goruntime.KeepAlive(s) })
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	return data
}

func TestGuardCatchesFaults(t *testing.T) {
	several(t)
	data := cutFile(t)
	sum := func(lo, hi int) {
		total := 0
		for _, b := range data[lo:hi] {
			total += int(b)
		}
		t.Errorf("read %d bytes of a file that was cut, sum %d", hi-lo, total)
	}
	for name, f := range map[string]func(){
		"at once":              func() { sum(0, len(data)) },
		"in goroutines":        func() { For(len(data), 1, sum) },
		"in the caller of For": func() { For(len(data), len(data), sum) },
	} {
		t.Run(name, func(t *testing.T) {
			err := Guard(func() error { f(); return nil })
			if !errors.Is(err, mmap.ErrFault) {
				t.Errorf("Guard: %v, want %v", err, mmap.ErrFault)
			}
		})
	}
}

func TestForAloneMakesAPanic(t *testing.T) {
	data := cutFile(t)
	defer func() {
		if _, ok := recover().(interface{ Addr() uintptr }); !ok {
			t.Error("the fault did not come as a panic with its address")
		}
	}()
	For(1, 1, func(int, int) { _ = append([]byte(nil), data...) })
	t.Error("For returned")
}

func TestGuardLetsOthersPass(t *testing.T) {
	boom := errors.New("boom")
	if err := Guard(func() error { return boom }); err != boom {
		t.Errorf("Guard: %v, want f's error", err)
	}
	if err := Guard(func() error { return nil }); err != nil {
		t.Errorf("Guard: %v, want none", err)
	}
	var nothing *int
	for name, f := range map[string]func() error{
		"a panic":       func() error { panic(boom) },
		"a nil pointer": func() error { *nothing = 1; return nil },
		"an index":      func() error { _ = []int{}[len(os.Args)]; return nil },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("the panic did not pass")
				}
			}()
			err := Guard(f)
			t.Errorf("Guard returned %v", err)
		})
	}
}
