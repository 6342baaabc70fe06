package plan

import "holdfast.dev/holdfast/pkg/intent"

// Problem is the reason why a resource is not in sync, or why the input is invalid. The alias saves the callers of
// a plan the import of package intent.
type Problem = intent.Problem
