package profiles

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/kinds"
)

// nameCheck records the times of the checks whether the API server knows the names in profiles. While it knows all of
// them, only a change of a profile or of a definition starts a check. The lock of the Profiles guards it.
type nameCheck struct {
	// retry is the time until the next check while a name is unknown. It doubles with each check, up to maxRetry, and
	// is 0 while all names are known.
	retry time.Duration
	// settling is true after a definition has changed. The API server starts or stops serving the kind later.
	settling bool
}

// settleTime is how long after the change of a definition the check is repeated.
const (
	settleTime = 5 * time.Second
	maxRetry   = 5 * time.Minute
)

// kindsChanged checks the names again, after a definition of the group has changed.
func (p *Profiles) kindsChanged(group string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, profile := range p.all() {
		if profile.MayName(group) {
			p.names = nameCheck{settling: true}
			p.queue.AddAfter(theNames, time.Second)
			return
		}
	}
}

// checkNames compares the names in all profiles with the kinds that the API server serves. It returns when to repeat
// this, 0 for after a change. It sends requests without the lock; profiles that change meanwhile are checked again.
func (p *Profiles) checkNames(ctx context.Context) (time.Duration, error) {
	p.mu.Lock()
	profiles := p.all()
	p.mu.Unlock()
	if len(profiles) == 0 {
		return 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, cluster.RequestTimeout)
	defer cancel()
	var served intent.ServedKinds
	var err error
	served.Kinds, served.Unavailable, err = p.client.ServedKinds(ctx)
	unknown := make([]error, len(profiles))
	// An API server that cannot list all kinds leaves all names known.
	if len(served.Kinds) > 0 {
		types := cluster.NewPublishedTypes(p.client)
		typeOf := func(gvk schema.GroupVersionKind) *kinds.Node { return types.Type(ctx, gvk) }
		for i, profile := range profiles {
			unknown[i] = errors.Join(profile.CheckNames(served, typeOf)...)
		}
	}
	return p.checked(profiles, unknown, err == nil), err
}

// checked records the unknown names of profiles, and returns when to check them again. If the served kinds could not
// be read, it keeps the names of the last check.
func (p *Profiles) checked(profiles []*intent.Profile, unknown []error, read bool) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, profile := range profiles {
		one := p.known[profile.Name]
		if one.profile != profile {
			continue // it has changed, which starts another check
		}
		one.checked = true
		if read {
			one.unknown = unknown[i]
		}
		p.known[profile.Name] = one
		p.queue.Add(profile.Name)
	}
	switch {
	// The API server may not serve the changed kind yet.
	case p.names.settling:
		p.names.settling = false
		return settleTime
	case errors.Join(unknown...) == nil:
		p.names.retry = 0
	default:
		p.names.retry = min(max(time.Second, 2*p.names.retry), maxRetry)
	}
	return p.names.retry
}
