// Package scripts carries the shipped Starlark library (std/, loaded as
// @std//…) and the examples as an embedded file system.
package scripts

import "embed"

// FS holds std/ and examples/.
//
//go:embed std examples
var FS embed.FS
