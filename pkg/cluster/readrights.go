package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/cache"
)

// How long a review counts. A right that was just granted is used soon, and one that is missing for long causes few
// requests.
const (
	allowedFor    = time.Second
	deniedFor     = 10 * time.Second
	deniedLong    = 10 * time.Minute // a right that is missing for so long is reviewed less often
	longDeniedFor = 5 * time.Minute
	reviewKept    = deniedLong + longDeniedFor
)

// ReadRights contains recent reviews of the right of users to read objects. Its methods can be called from any
// goroutine. Two that ask for the same right at the same time both send a request.
type ReadRights struct {
	reviews *cache.Expiring
	now     func() time.Time
}

// NewReadRights returns a ReadRights without reviews.
func NewReadRights(now func() time.Time) *ReadRights {
	return &ReadRights{cache.NewExpiring(), now}
}

// readRight is the right of a user to read the objects of a resource. An empty name is any object of the namespace, and
// an empty namespace is any namespace, or the cluster.
type readRight struct {
	user, verb, namespace, name string
	schema.GroupResource
}

// review is a response of the API server.
type review struct {
	allowed bool
	// until is when the API server must be asked again. since is when the right was first found missing.
	until, since time.Time
}

// MayRead returns nil if the ServiceAccount may read an object. verb is get or list. It asks the API server for all
// objects of the namespace, and then for this one, unless recent reviews are known. With refresh, no recent review
// counts. A missing right is a 403 error, and again is when it asks the next time.
func (w *Writer) MayRead(ctx context.Context, rights *ReadRights, at Location, verb string, refresh bool) (again time.Duration, err error) {
	resource := at.Mapping.Resource.GroupResource()
	all := readRight{user: w.user, verb: verb, GroupResource: resource}
	if at.Mapping.Namespaced {
		all.namespace = at.ID.Namespace
	}
	one := all
	one.name = at.ID.Name
	for _, right := range []readRight{all, one} {
		known, asked := rights.known(right)
		if !asked || refresh {
			allowed, err := w.isAllowed(ctx, right)
			if err != nil {
				return deniedFor, err
			}
			known = rights.add(right, allowed)
		}
		if known.allowed {
			return 0, nil
		}
		again = known.until.Sub(rights.now())
	}
	where := ""
	if all.namespace != "" {
		where = fmt.Sprintf(" in the namespace %q", all.namespace)
	}
	return again, apierrors.NewForbidden(resource, at.ID.Name, fmt.Errorf("User %q cannot %s resource %q in API group %q%s", w.user, verb, resource.Resource, resource.Group, where))
}

// known returns the last review. It reports whether the review still counts.
func (r *ReadRights) known(right readRight) (last review, counts bool) {
	value, _ := r.reviews.Get(right)
	last, _ = value.(review)
	return last, r.now().Before(last.until)
}

// add records a review.
func (r *ReadRights) add(right readRight, allowed bool) review {
	now := r.now()
	last, _ := r.known(right)
	next := review{allowed: allowed, until: now.Add(allowedFor)}
	if !allowed {
		next.since = last.since
		if next.since.IsZero() {
			next.since = now
		}
		next.until = now.Add(deniedFor)
		if now.Sub(next.since) >= deniedLong {
			next.until = now.Add(longDeniedFor)
		}
	}
	r.reviews.Set(right, next, reviewKept)
	return next
}

// isAllowed asks the API server, as the ServiceAccount itself: every user may ask for their own rights.
func (w *Writer) isAllowed(ctx context.Context, right readRight) (bool, error) {
	body, err := json.Marshal(&authorizationv1.SelfSubjectAccessReview{
		TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"},
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: right.namespace, Verb: right.verb, Group: right.Group, Resource: right.Resource, Name: right.name,
		}},
	})
	if err != nil {
		return false, err
	}
	raw, err := rawJSON(w.rest.Post().AbsPath("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews").Body(body).
		SetHeader("Content-Type", "application/json").Do(w.in(ctx)))
	if err != nil {
		return false, fmt.Errorf("asking for the rights of %s: %w", w.user, err)
	}
	var response authorizationv1.SelfSubjectAccessReview
	if err := json.Unmarshal(raw, &response); err != nil {
		return false, fmt.Errorf("reading the rights of %s: %w", w.user, err)
	}
	return response.Status.Allowed, nil
}
