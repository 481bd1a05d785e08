//go:build !linux

package mmap

func adviseRandom([]byte) {}

func adviseSequential([]byte, int64, int64) {}
