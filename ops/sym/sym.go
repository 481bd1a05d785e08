// Package sym is integer arithmetic over symbols, for sizes that are not known
// before a model runs: 2*N+1, (H-3)//2+1.
package sym
