package program

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// renewedLock is a lock whose Lease is renewed or taken between each read and the first following write.
type renewedLock struct {
	resourcelock.Interface

	holder, next string
	conflicts    int
}

func (*renewedLock) Identity() string { return "us" }

func (l *renewedLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &resourcelock.LeaderElectionRecord{HolderIdentity: l.holder}, nil, nil
}

func (l *renewedLock) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	if l.conflicts > 0 {
		l.conflicts, l.holder = l.conflicts-1, l.next
		return apierrors.NewConflict(schema.GroupResource{Resource: "leases"}, "holdfast-controller", nil)
	}
	l.holder = record.HolderIdentity
	return nil
}

// A release is retried after a concurrent renewal by the same process, but does not take the Lease from
// another process.
func TestLeaseReleaseIsRetried(t *testing.T) {
	ours := &renewedLock{holder: "us", next: "us", conflicts: 2}
	require.NoError(t, (&waitingLock{Interface: ours}).Update(t.Context(), resourcelock.LeaderElectionRecord{}))
	assert.Empty(t, ours.holder)

	theirs := &renewedLock{holder: "us", next: "another", conflicts: 1}
	require.Error(t, (&waitingLock{Interface: theirs}).Update(t.Context(), resourcelock.LeaderElectionRecord{}))
	assert.Equal(t, "another", theirs.holder)

	renewal := &renewedLock{holder: "us", next: "us", conflicts: 1}
	require.Error(t, (&waitingLock{Interface: renewal}).Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "us"}))
}
