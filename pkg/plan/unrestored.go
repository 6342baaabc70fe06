package plan

import (
	"fmt"

	"holdfast.dev/holdfast/pkg/manifest"
)

// Unrestored is a field that is held no longer and stays as it is, though it would get back
// what it had before us.
type Unrestored struct {
	ID        manifest.ID
	Path, Why string
}

func (u Unrestored) String() string { return "not restored: " + u.about() }

func (u Unrestored) about() string { return fmt.Sprintf("%s of %s: %s", u.Path, u.ID, u.Why) }
