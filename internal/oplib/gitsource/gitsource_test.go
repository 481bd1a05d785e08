package gitsource

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/storer"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/server"

	"github.com/starlarkgs/starlarkgs/internal/oplib"
)

// fixture makes a repository: tag v1 (annotated) and branch old hold x = 1, the
// head holds x = 2 and more.
func fixture(t *testing.T) (dir string, repo *git.Repository) {
	t.Helper()
	dir = t.TempDir()
	repo, err := git.PlainInit(dir, false)
	if err != nil {
		t.Fatal(err)
	}
	first := commit(t, repo, dir, map[string]string{"ops/a.star": "x = 1\n", "ops/README.md": "no", "b.star": "y = 1\n"})
	who := &object.Signature{Name: "A", Email: "a@example.com", When: time.Unix(1_700_000_000, 0)}
	if _, err := repo.CreateTag("v1", first, &git.CreateTagOptions{Tagger: who, Message: "one"}); err != nil {
		t.Fatal(err)
	}
	if err := repo.Storer.SetReference(plumbing.NewHashReference("refs/heads/old", first)); err != nil {
		t.Fatal(err)
	}
	commit(t, repo, dir, map[string]string{"ops/a.star": "x = 2\n", "ops/sub/c.star": "z = 1\n"})
	return dir, repo
}

func commit(t *testing.T, repo *git.Repository, dir string, files map[string]string) plumbing.Hash {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return commitAll(t, repo)
}

func commitAll(t *testing.T, repo *git.Repository) plumbing.Hash {
	t.Helper()
	w, err := repo.Worktree()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.AddGlob("."); err != nil {
		t.Fatal(err)
	}
	who := &object.Signature{Name: "A", Email: "a@example.com", When: time.Unix(1_700_000_000, 0)}
	hash, err := w.Commit("files", &git.CommitOptions{Author: who})
	if err != nil {
		t.Fatal(err)
	}
	return hash
}

// TestFetch fetches by every kind of revision, from the folder and over HTTP on
// the loopback.
func TestFetch(t *testing.T) {
	dir, repo := fixture(t)
	old, err := repo.ResolveRevision("old")
	if err != nil {
		t.Fatal(err)
	}
	served := httptest.NewServer(smartHTTP{repo})
	defer served.Close()
	for _, url := range []string{dir, served.URL + "/repo.git"} {
		for rev, want := range map[string]string{"v1": "x = 1\n", "old": "x = 1\n", old.String(): "x = 1\n", "HEAD": "x = 2\n", "master": "x = 2\n"} {
			tree, commit, err := Fetch(t.Context(), oplib.Source{Git: url, Rev: rev, Dir: "ops"})
			if err != nil || string(tree["a.star"]) != want || tree["README.md"] != nil || tree["b.star"] != nil || (want == "x = 1\n") != (commit == old.String()) {
				t.Errorf("%s at %s: got %q, %s, %v", url, rev, tree, commit, err)
			}
		}
		tree, _, err := Fetch(t.Context(), oplib.Source{Git: url, Rev: "HEAD"})
		if err != nil || len(tree) != 3 || string(tree["ops/sub/c.star"]) != "z = 1\n" {
			t.Errorf("%s: got %q, %v", url, tree, err)
		}
	}
}

func TestFetchErrors(t *testing.T) {
	dir, repo := fixture(t)
	if err := os.Symlink("a.star", filepath.Join(dir, "ops", "link.star")); err != nil {
		t.Skip("links can't be made here")
	}
	commitAll(t, repo)
	tests := []struct {
		s    oplib.Source
		want string
	}{
		{oplib.Source{Git: dir, Rev: "v9"}, `got rev "v9", which the repository does not have`},
		{oplib.Source{Git: dir, Rev: "v1", Dir: "none"}, `rev "v1" has no folder "none"`},
		{oplib.Source{Git: dir + "/none", Rev: "v1"}, "repository does not exist"},
		{oplib.Source{Git: dir, Rev: "HEAD", Dir: "ops"}, "link.star: got a link, want a file"},
		{oplib.Source{Git: "http://127.0.0.1:1/x.git", Rev: "v1"}, "127.0.0.1:1"},
	}
	for _, tt := range tests {
		tree, _, err := Fetch(t.Context(), tt.s)
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), tt.s.Git+": ") {
			t.Errorf("%+v: got %q and %v, want %s", tt.s, tree, err, tt.want)
		}
	}
	if _, _, err := Fetch(t.Context(), oplib.Source{Git: "http://me:secret@127.0.0.1:1/x.git", Rev: "v1"}); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := Fetch(ctx, oplib.Source{Git: dir, Rev: "v1"}); err == nil {
		t.Error("a cancelled fetch succeeded")
	}
}

// smartHTTP serves a repository by git's protocol over HTTP.
type smartHTTP struct{ repo *git.Repository }

// Load gives the repository to go-git's server.
func (s smartHTTP) Load(*transport.Endpoint) (storer.Storer, error) { return s.repo.Storer, nil }

func (s smartHTTP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := s.serve(w, r); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

func (s smartHTTP) serve(w http.ResponseWriter, r *http.Request) error {
	session, err := server.NewServer(s).NewUploadPackSession(&transport.Endpoint{}, nil)
	if err != nil {
		return err
	}
	if r.Method == http.MethodGet {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		refs, err := session.AdvertisedReferencesContext(r.Context())
		if err != nil {
			return err
		}
		refs.Prefix = [][]byte{[]byte("# service=git-upload-pack"), pktline.Flush}
		return refs.Encode(w)
	}
	w.Header().Set("Content-Type", "application/x-git-upload-pack-result")
	req := packp.NewUploadPackRequest()
	if err := req.UploadRequest.Decode(r.Body); err != nil {
		return err
	}
	resp, err := session.UploadPack(r.Context(), req)
	if err != nil {
		return err
	}
	return resp.Encode(w)
}
