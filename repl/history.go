package repl

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
)

const maxHistory = 1000

// history is earlier input, kept as one JSON string on each line: a statement of
// several lines is one entry.
type history struct {
	path    string
	entries []string
}

func loadHistory(path string) *history {
	h := &history{path: path}
	f, err := os.Open(path)
	if err != nil {
		return h // there is none yet
	}
	defer f.Close()
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		var text string
		if json.Unmarshal(scan.Bytes(), &text) == nil {
			h.entries = append(h.entries, text)
		}
	}
	if n := len(h.entries); n > maxHistory {
		h.entries = h.entries[n-maxHistory:]
	}
	return h
}

// add appends an entry to the file. What can't be written is lost, and no more.
func (h *history) add(text string) {
	if h.path == "" {
		return
	}
	line, err := json.Marshal(text)
	if err != nil || os.MkdirAll(filepath.Dir(h.path), 0o700) != nil {
		return
	}
	f, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.Write(append(line, '\n'))
}
