package onnx

import (
	"crypto/rand"
	"crypto/sha1"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"sync"

	"github.com/starlarkgs/starlarkgs/internal/mmap"
)

// commit puts a model and its external files in place so that they switch as
// one. The model's rename is what counts; until then the old model finds all its
// files, and from then on the new one does:
//
//  1. Each external file is written under a fresh name and synced.
//  2. One whose own name is free gets it. One whose name is taken, most likely by
//     a file of the old model, keeps the fresh name for now.
//  3. The model is written, synced and renamed over the old one. It is the new
//     one from here on, with its weights under the names that they have.
//  4. The own names that were taken are given by way of a second link, a model
//     that says so is renamed over the first, and the fresh names go.
//
// All happens below the folder of the model: no link leads a write out of it.
type commit struct {
	dir, name string
	model     *encoded
	files     []*dataFile
	report    *SaveReport
	sums      bool  // checksums are wanted
	budget    int64 // of buffers, in bytes

	root *os.Root
	mu   sync.Mutex
	made []string // files to remove when this fails
}

// writeHook, in tests, is called before each step of writing and may make it
// fail.
var writeHook func(step string) error

func hook(step string) error {
	if writeHook != nil {
		return writeHook(step)
	}
	return nil
}

func (c *commit) run() (err error) {
	if c.root, err = os.OpenRoot(c.dir); err != nil {
		return err
	}
	defer c.root.Close()
	defer func() { c.remove(c.made) }()
	if err := c.writeFiles(); err != nil {
		return err
	}
	taken, err := c.nameFiles()
	if err != nil {
		return err
	}
	if err := c.writeModel(); err != nil {
		return err
	}
	c.made = nil
	c.report.Bytes = c.model.size
	if len(taken) > 0 {
		c.rename(taken)
	}
	for _, f := range c.files {
		c.report.Files = append(c.report.Files, filepath.Join(c.dir, filepath.FromSlash(f.now)))
	}
	return nil
}

// remove removes what a save that failed has made; there is nothing to do about
// what can't be removed.
func (c *commit) remove(names []string) {
	for _, name := range names {
		_ = c.root.Remove(name)
	}
}

// fresh creates a file of a name that no other has, made of the name it will get.
func (c *commit) fresh(name, suffix string) (*os.File, string, error) {
	if err := hook("create"); err != nil {
		return nil, "", err
	}
	dir, base := path.Split(name)
	if dir != "" {
		if err := c.root.MkdirAll(path.Clean(dir), 0o777); err != nil {
			return nil, "", err
		}
	}
	for {
		made := fmt.Sprintf("%s%s.%s%s", dir, base[:min(len(base), 200)], rand.Text()[:8], suffix)
		f, err := c.root.OpenFile(made, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, "", err
		}
		c.mu.Lock()
		c.made = append(c.made, made)
		c.mu.Unlock()
		return f, made, nil
	}
}

// write writes a file under a fresh name and returns that.
func (c *commit) write(name, suffix string, segments []segment, sum hash.Hash) (made string, err error) {
	f, made, err := c.fresh(name, suffix)
	if err != nil {
		return "", err
	}
	defer func() {
		if e := f.Close(); err == nil {
			err = e
		}
	}()
	out := &fileSink{file: f, sum: sum}
	if err := writeSegments(out, segments); err != nil {
		return "", err
	}
	if err := out.finish(); err != nil {
		return "", err
	}
	if old, err := c.root.Stat(name); err == nil { // permissions stay
		if err := f.Chmod(old.Mode().Perm()); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return "", err
		}
	}
	if err := hook("sync"); err != nil {
		return "", err
	}
	return made, f.Sync()
}

// writeFiles writes the external files, several at a time: as many as have room
// for their buffers.
func (c *commit) writeFiles() error {
	workers := int(min(int64(len(c.files)), max(c.budget/(2*copyChunk), 1), int64(goruntime.GOMAXPROCS(0))))
	queue := make(chan *dataFile)
	failed := make(chan error, max(workers, 1))
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for f := range queue {
				if err := mmap.Guard(func() error { return c.writeData(f) }); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	var err error
	for _, f := range c.files {
		select {
		case queue <- f:
			continue
		case err = <-failed:
		}
		break
	}
	close(queue)
	wg.Wait()
	if err == nil && len(failed) > 0 {
		err = <-failed
	}
	return err
}

func (c *commit) writeData(f *dataFile) (err error) {
	var sum hash.Hash
	if c.sums {
		sum = sha1.New()
	}
	made, err := c.write(f.name, path.Ext(f.name), f.segments(), sum)
	if err != nil {
		return err
	}
	if c.sums {
		f.sum = fmt.Sprintf("%x", sum.Sum(nil))
	}
	f.refer(made)
	return nil
}

// nameFiles gives the external files their own names, where these are free, and
// returns the others.
func (c *commit) nameFiles() (taken []*dataFile, err error) {
	for _, f := range c.files {
		if _, err := c.root.Lstat(f.name); !errors.Is(err, fs.ErrNotExist) {
			taken = append(taken, f)
			continue
		}
		if err := hook("name"); err != nil {
			return nil, err
		}
		if err := c.root.Rename(f.now, f.name); err != nil {
			return nil, err
		}
		c.made[slices.Index(c.made, f.now)] = f.name
		f.refer(f.name)
	}
	if len(c.files) > 0 {
		c.sync()
		return taken, c.model.render()
	}
	return nil, nil
}

// writeModel writes the model and makes it the one at the path.
func (c *commit) writeModel() error {
	made, err := c.write(c.name, ".tmp", c.model.segments, nil)
	if err != nil {
		return err
	}
	if err := hook("rename"); err != nil {
		return err
	}
	if err := c.root.Rename(made, c.name); err != nil {
		return err
	}
	if i := slices.Index(c.made, made); i >= 0 {
		c.made = slices.Delete(c.made, i, i+1)
	}
	c.sync()
	return nil
}

// rename gives the files the names that were taken by the old model's. The new
// model is in place and whole: where a system can't do this, the weights keep
// the names that they have, and that is said.
func (c *commit) rename(files []*dataFile) {
	var named []*dataFile
	for _, f := range files {
		fresh := f.now
		if err := c.link(f); err != nil {
			c.report.note("the weights are in %s: %s could not be replaced: %v", fresh, f.name, err)
			continue
		}
		named = append(named, f)
	}
	if len(named) == 0 {
		return
	}
	c.sync()
	fresh := map[*dataFile]string{}
	for _, f := range named {
		fresh[f] = f.now
		f.refer(f.name)
	}
	err := c.model.render()
	if err == nil {
		err = c.writeModel()
	}
	if err != nil {
		c.remove(c.made)
		for _, f := range named { // the model that is in place knows these only
			c.remove([]string{f.name})
			f.now = fresh[f]
			c.report.note("the weights are in %s, not %s: %v", f.now, f.name, err)
		}
		return
	}
	for _, f := range named {
		c.remove([]string{fresh[f]})
	}
	c.report.Bytes = c.model.size
	c.made = nil
	c.sync()
}

// link puts the file, by way of a second link to it, in the place of the old one.
func (c *commit) link(f *dataFile) error {
	if err := hook("link"); err != nil {
		return err
	}
	second := f.now + ".tmp"
	if err := c.root.Link(f.now, second); err != nil {
		return err
	}
	err := hook("replace")
	if err == nil {
		err = c.root.Rename(second, f.name)
	}
	if err != nil {
		c.remove([]string{second})
	}
	return err
}

// sync makes the renames durable, where a folder can be synced.
func (c *commit) sync() {
	dirs := map[string]bool{".": true}
	for _, f := range c.files {
		dirs[path.Dir(f.name)] = true
	}
	for dir := range dirs {
		if d, err := c.root.Open(dir); err == nil {
			_ = d.Sync() // some systems can't; the rename has happened all the same
			d.Close()
		}
	}
}
