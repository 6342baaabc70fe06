package plan

import "holdfast.dev/holdfast/pkg/intent"

// Problem is the reason why a resource is not in sync, or why the input is invalid.
type Problem = intent.Problem
