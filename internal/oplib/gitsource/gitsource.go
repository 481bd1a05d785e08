// Package gitsource fetches op libraries from git repositories.
//
// A repository on this machine is read where it is; any other is cloned into a
// temporary folder first. No program is started and no file is checked out: the
// files are read from the objects of the commit.
package gitsource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"

	"github.com/starlarkgs/starlarkgs/internal/oplib"
)

// Fetch is an oplib.Fetch.
func Fetch(ctx context.Context, s oplib.Source) (oplib.Tree, string, error) {
	t, commit, err := fetch(ctx, s)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", redacted(s.Git), err)
	}
	return t, commit, nil
}

// redacted returns an address without its password.
func redacted(address string) string {
	if u, err := url.Parse(address); err == nil && u.User != nil {
		return u.Redacted()
	}
	return address
}

func fetch(ctx context.Context, s oplib.Source) (oplib.Tree, string, error) {
	repo, done, err := open(ctx, s.Git)
	if err != nil {
		return nil, "", err
	}
	defer done()
	hash, err := repo.ResolveRevision(plumbing.Revision(s.Rev))
	if err != nil {
		return nil, "", fmt.Errorf("got rev %q, which the repository does not have", s.Rev)
	}
	commit, err := repo.CommitObject(*hash)
	if err != nil {
		return nil, "", fmt.Errorf("rev %q: %w", s.Rev, err)
	}
	root, err := commit.Tree()
	if err == nil && s.Dir != "" && s.Dir != "." {
		if root, err = root.Tree(s.Dir); errors.Is(err, object.ErrDirectoryNotFound) {
			err = fmt.Errorf("rev %q has no folder %q", s.Rev, s.Dir)
		}
	}
	if err != nil {
		return nil, "", err
	}
	t, err := read(ctx, root)
	return t, hash.String(), err
}

// open opens a repository, or a clone of it that done removes.
func open(ctx context.Context, address string) (repo *git.Repository, done func(), err error) {
	if oplib.IsLocal(address) {
		repo, err = git.PlainOpenWithOptions(address, &git.PlainOpenOptions{EnableDotGitCommonDir: true})
		return repo, func() {}, err
	}
	dir, err := os.MkdirTemp("", "sgs-git-*")
	if err != nil {
		return nil, nil, err
	}
	repo, err = git.PlainCloneContext(ctx, dir, true, &git.CloneOptions{URL: address, Mirror: true})
	if err != nil {
		return nil, nil, errors.Join(err, os.RemoveAll(dir))
	}
	return repo, func() { os.RemoveAll(dir) }, nil
}

// read reads the files that a library takes.
func read(ctx context.Context, root *object.Tree) (oplib.Tree, error) {
	t := oplib.Tree{}
	w := object.NewTreeWalker(root, true, nil)
	defer w.Close()
	for {
		name, entry, err := w.Next()
		if errors.Is(err, io.EOF) {
			return t, ctx.Err()
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
		if err := add(t, root, name, entry.Mode); err != nil {
			return nil, err
		}
	}
}

func add(t oplib.Tree, root *object.Tree, name string, mode filemode.FileMode) error {
	if !oplib.Kept(name) {
		return nil
	}
	switch mode {
	case filemode.Symlink:
		return fmt.Errorf("%s: got a link, want a file: it could lead anywhere", name)
	case filemode.Regular, filemode.Executable, filemode.Deprecated:
	default: // a folder or a module of that name
		return nil
	}
	if _, twice := t[name]; twice {
		return fmt.Errorf("%s: the commit holds it twice", name)
	}
	f, err := root.File(name)
	if err != nil {
		return err
	}
	return t.Add(name, f.Size, func() ([]byte, error) {
		r, err := f.Reader()
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return io.ReadAll(io.LimitReader(r, oplib.MaxFile))
	})
}
