package oplib

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/starlarkgs/starlarkgs/internal/atomicfile"
)

// Fetch returns the library at a revision of a git repository, and the commit
// that the revision is. A repository that is a folder is given by its absolute
// path.
type Fetch func(ctx context.Context, s Source) (t Tree, commit string, err error)

// Change is what update did to a library.
type Change struct {
	Name string `json:"name"`
	From string `json:"from,omitempty"` // the hash before
	To   string `json:"to"`
	// Commit is that of the revision now.
	Commit string `json:"commit,omitempty"`
}

// Status is what is known of a library.
type Status struct {
	Name   string `json:"name"`
	Source Source `json:"source"`
	Commit string `json:"commit,omitempty"`
	Hash   string `json:"hash,omitempty"`
	State  string `json:"state"`           // Vendored, Folder, Cached or Missing
	Error  string `json:"error,omitempty"` // why it can't be loaded
}

// Add names a library in the sgs.toml of the project, which is made where there
// is none, pins what is there now, and returns what it did.
func Add(ctx context.Context, root, name string, s Source, fetch Fetch) (*Change, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("library %q: %w", name, err)
	}
	file := filepath.Join(root, ManifestFile)
	old, err := os.ReadFile(file)
	p := &Project{Root: root}
	if err == nil {
		p, err = Open(root)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return nil, err
	}
	if have, ok := p.manifest.Libs[name]; ok {
		return nil, fmt.Errorf("library %q: %s names it already, as %s: edit that, then run sgs lib update %s", name, ManifestFile, have, name)
	}
	text, err := appendSource(old, name, s)
	if err != nil {
		return nil, err
	}
	p.manifest = manifest{}
	if err := decodeTOML(file, text, &p.manifest); err != nil {
		return nil, fmt.Errorf("library %q can't be appended: %w", name, err)
	}
	change, err := p.update(ctx, name, fetch)
	if err != nil {
		return nil, err
	}
	if err := atomicfile.Replace(file, text); err != nil {
		return nil, err
	}
	return change, p.lock.write(root)
}

// Update pins what the sources of the libraries named, all for none, are now,
// and returns what changed. Nothing is written when one fails.
func (p *Project) Update(ctx context.Context, names []string, fetch Fetch) ([]Change, error) {
	names, err := p.known(names)
	if err != nil {
		return nil, err
	}
	var changes []Change
	for _, name := range names {
		c, err := p.update(ctx, name, fetch)
		if err != nil {
			return nil, err
		}
		changes = append(changes, *c)
	}
	p.forget()
	return changes, p.lock.write(p.Root)
}

// known returns the names, which sgs.toml must have, or all for none.
func (p *Project) known(names []string) ([]string, error) {
	if len(names) == 0 {
		return p.Names(), nil
	}
	for _, name := range names {
		if _, err := p.source(name); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// forget drops the pins of libraries that sgs.toml does not name any more.
func (p *Project) forget() {
	var kept lock
	for _, pin := range p.lock.Libs {
		if _, ok := p.manifest.Libs[pin.Name]; ok {
			kept.set(pin)
		}
	}
	kept.Version = lockVersion
	p.lock = kept
}

// update fetches a library, keeps it, and pins it in p.lock, which is not yet
// written.
func (p *Project) update(ctx context.Context, name string, fetch Fetch) (*Change, error) {
	s, err := p.source(name)
	if err != nil {
		return nil, err
	}
	t, commit, err := p.fetch(ctx, s, s.Rev, fetch)
	if err != nil {
		return nil, fmt.Errorf("library %q: %w", name, err)
	}
	if len(t) == 0 {
		return nil, fmt.Errorf("library %q: got no *.star in %s, want at least one", name, s)
	}
	files := t.hashes()
	pin := Pin{Name: name, Source: s, Commit: commit, Hash: hashOf(files), Files: files}
	if err := p.keep(pin, t); err != nil {
		return nil, err
	}
	if dir := p.vendorDir(name); isFolder(dir) {
		if err := t.write(dir); err != nil {
			return nil, err
		}
	}
	before, _ := p.lock.pin(name)
	p.lock.set(pin)
	return &Change{Name: name, From: before.Hash, To: pin.Hash, Commit: commit}, nil
}

// fetch returns the files of a source at a revision of it.
func (p *Project) fetch(ctx context.Context, s Source, rev string, fetch Fetch) (Tree, string, error) {
	if s.Path != "" {
		t, err := ReadFolder(p.path(s.Path))
		return t, "", err
	}
	s.Rev = rev
	if IsLocal(s.Git) {
		s.Git = p.path(strings.TrimPrefix(s.Git, "file://"))
	}
	return fetch(ctx, s)
}

// keep puts the files of a library from git into the cache, in place of what may
// have been changed there.
func (p *Project) keep(pin Pin, t Tree) error {
	if pin.Git == "" {
		return nil
	}
	dir, err := p.cacheDir(pin.Hash)
	if err != nil {
		return err
	}
	if pin.isAt(dir) {
		return nil
	}
	if err := t.write(dir); err != nil && !pin.isAt(dir) { // another process may have been faster
		return err
	}
	return nil
}

// isAt reports whether a folder holds what is pinned.
func (pin Pin) isAt(dir string) bool {
	t, err := ReadFolder(dir)
	return err == nil && pin.compare(t, Cached, dir) == nil
}

// obtain returns the files that a pin speaks of, fetched where they are missing
// or, for a repair, not as they were.
func (p *Project) obtain(ctx context.Context, pin Pin, fetch Fetch, repair bool) (Tree, error) {
	t, _, err := p.read(pin)
	var missing *missingError
	var changed *ChangedError
	if err == nil || !errors.As(err, &missing) && !(repair && errors.As(err, &changed)) {
		return t, err
	}
	t, _, err = p.fetch(ctx, pin.Source, pin.Commit, fetch)
	if err != nil {
		return nil, err
	}
	if err := pin.compare(t, Folder, pin.Source.String()); err != nil {
		return nil, err
	}
	return t, p.keep(pin, t)
}

// Vendor copies the libraries named, all for none, as they are pinned to
// sgs_libs, and returns their names.
func (p *Project) Vendor(ctx context.Context, names []string, fetch Fetch) ([]string, error) {
	names, err := p.known(names)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		pin, err := p.pinned(name)
		if err != nil {
			return nil, err
		}
		t, err := p.obtain(ctx, pin, fetch, true)
		if err == nil {
			err = t.write(p.vendorDir(name))
		}
		if err != nil {
			return nil, fmt.Errorf("library %q: %w", name, err)
		}
	}
	return names, nil
}

// Verify fetches what is pinned and missing, and holds each library against its
// pin. The error in a Status says what is wrong.
func (p *Project) Verify(ctx context.Context, fetch Fetch) ([]Status, error) {
	for _, name := range p.Names() {
		pin, err := p.pinned(name)
		if err != nil {
			continue // told by List
		}
		if state, _, err := p.place(pin); err != nil || state != Missing {
			continue
		}
		if _, err := p.obtain(ctx, pin, fetch, false); err != nil {
			return nil, fmt.Errorf("library %q: %w", name, err)
		}
	}
	return p.List(), nil
}

// List returns what is known of each library, without the network.
func (p *Project) List() []Status {
	var all []Status
	for _, name := range p.Names() {
		st := Status{Name: name, Source: p.manifest.Libs[name], State: Missing}
		pin, err := p.pinned(name)
		if err == nil {
			st.Commit, st.Hash = pin.Commit, pin.Hash
			_, st.State, err = p.read(pin)
		}
		if err != nil {
			st.Error = err.Error()
		}
		all = append(all, st)
	}
	return all
}
