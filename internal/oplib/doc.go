// Package oplib keeps the op libraries of a project: files of Starlark that its
// scripts load as @NAME//FILE.
//
// A project is the folder of a file sgs.toml, which names each library and where
// it comes from, a folder or a revision of a git repository:
//
//	[libs.acme]
//	git = "https://example.com/acme-ops.git"
//	rev = "v1.2.0"
//	dir = "ops"        # a folder of the repository; the whole by default
//
//	[libs.mine]
//	path = "../ops"
//
// Beside it sgs.lock pins what was found there: the commit and a hash of each
// file. What is read later must be that, to the byte: it comes from sgs_libs, if
// the library was vendored, else from the folder or, for git, the user's cache.
//
//	Open         reads sgs.toml and sgs.lock
//	Project.Load returns a library, checked; it never reaches the network
//	Project.Add, Update, Vendor, Verify and List are what sgs lib does
//	Tree         is the files of a library
//
// A library is its scripts (*.star) and the texts of its licence; all else in the
// folder is left out. Sizes and counts are bounded, names are checked, and no
// link leads out of the folder. Package gitsource fetches; this one only is given
// a Fetch, so that a program that loads libraries is not one that can reach out.
package oplib
