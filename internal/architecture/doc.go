// Package architecture has no code, only tests: they fail when a package imports
// what its place in the design does not allow.
//
//	cmd/holdfast   cmd/holdfast-controller
//	     │              │
//	  pkg/cli       pkg/controller
//	     │              │
//	     └──────┬───────┤
//	            │   pkg/cluster                the only one that talks to a cluster
//	            │       │
//	         pkg/plan ──┘    pkg/builtin
//	            │
//	  pkg/hooks  pkg/tosca  pkg/mysql
//	            │
//	       pkg/template
//	            │
//	  pkg/delta → pkg/observer → pkg/manifest, pkg/kinds
//	            │
//	  pkg/api
//
// Arrows go down only. Everything up to and including pkg/plan is pure: values in,
// values out, without a client, a clock, randomness, files or the environment. The
// rules are in rules_test.go.
package architecture
