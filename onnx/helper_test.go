package onnx

import (
	"errors"
	"os"
)

var errTest = errors.New("made to fail")

func readDir(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}
