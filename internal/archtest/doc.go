// Package archtest holds the test of the arrows: which package may import which.
//
// The table in rules_test.go is the plan of the house, one row for each folder.
// The test reads the import clauses of every Go file of the module, whatever its
// build tags, and fails on an import that the row of its package does not allow,
// on a package that no row covers, and on a library that has no home here. Tests
// (_test.go) may import what they like.
//
// Nobody edits the table to make a build pass: an arrow is added when the plan
// changes, with the reason in the same change.
package archtest
