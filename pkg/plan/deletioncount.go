package plan

import (
	"slices"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// deletions writes the count of deletions to the status. It does not change it until a deletion begins, or waits
// for a confirmation. While confirmed deletions are in progress, the status contains the digest of the remaining
// objects, so that a deletion in several stages needs one confirmation.
// Source: docs/semantics.md, "How much a change can delete".
func (c *summarizer) deletions() {
	if c.plan.retiring {
		return
	}
	d, was := c.plan.deletions, c.result.Status.Deletions
	// The remaining objects have another digest than those that the user confirmed.
	left := slices.DeleteFunc(slices.Clone(d.due), c.hasBegun)
	begun := len(d.due) - len(left)
	hasProgress := begun+len(d.begun) > 0
	isConfirmed := was != nil && was.Confirmed != ""
	switch {
	case d.confirmed && !hasProgress:
	case d.confirmed && len(left) > 0:
		c.result.Status.Deletions = &v1alpha1.DeletionCount{Confirmed: deletionDigest(left)}
	case d.confirmed, isConfirmed && !hasProgress && !d.stopped:
		c.result.Status.Deletions = nil
	case hasProgress || d.stopped:
		next := d.count
		next.Deleted += int32(begun)
		if next.Since == nil {
			now := c.now
			if c.preview {
				now.Time = c.plan.in.Now
			}
			next.Since = &now
		}
		c.result.Status.Deletions = &next
	}
}

// hasBegun reports whether the deletion of an object has begun, or, in a preview, will have when all changes are
// done.
func (c *summarizer) hasBegun(old *pruneCandidate) bool {
	outcome, attempted := c.outcomes[old.id]
	return attempted && (outcome.Gone || outcome.Problem == nil) || c.preview && old.change.Writes() && !c.plan.IsNoOp()
}
