package connection

import (
	"cmp"
	"context"
	"slices"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
)

// Profiles implements reconcile.Reader. It returns the HoldProfiles, and the targets of autoscalers if a
// profile refers to them. It leaves out objects that the user may not list; unprofiled reports them.
// An older installation has no HoldProfiles.
//
//	HoldProfiles       all of the cluster, in one request
//	HPAs               one request per namespace of an object that a rule with whileTargetedBy can apply to
//	the user may not   no profiles, or no targets; the note in unprofiled
func (v *view) Profiles(ctx context.Context, objects []manifest.ID) (intent.Profiles, error) {
	listed, err := v.list(ctx, v.Own.Resource(v1alpha1.ProfileGroupVersionResource), "holdprofiles."+v1alpha1.GroupVersion.Group)
	if err != nil {
		return intent.Profiles{}, err
	}
	var profiles []*intent.Profile
	for _, item := range listed {
		raw, err := item.MarshalJSON()
		if err != nil {
			return intent.Profiles{}, err
		}
		from, err := cluster.DecodeProfile(raw)
		if err != nil {
			return intent.Profiles{}, err
		}
		if profile, mistakes := intent.ReadProfile(from); mistakes == nil { // an invalid profile has no effect, and its status reports that
			profiles = append(profiles, profile)
		}
	}
	// Autoscalers are only read in namespaces where a rule depends on them.
	var namespaces []string
	for _, id := range objects {
		if id.Namespace != "" && slices.ContainsFunc(profiles, func(p *intent.Profile) bool { return p.AsksForAutoscalersOf(id.GroupKind()) }) {
			namespaces = append(namespaces, id.Namespace)
		}
	}
	slices.Sort(namespaces)
	live := map[manifest.ID]map[string]any{}
	resource := autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers")
	for _, namespace := range slices.Compact(namespaces) {
		autoscalers, err := v.list(ctx, v.Own.Resource(resource).Namespace(namespace), resource.GroupResource().String())
		if err != nil {
			return intent.Profiles{}, err
		}
		for _, item := range autoscalers {
			id := manifest.ID{Group: resource.Group, Kind: item.GetKind(), Namespace: namespace, Name: item.GetName()}
			live[id] = item.Object
		}
	}
	return files.ProfilesOf(profiles, live), nil
}

// list returns the objects of a kind. It returns none if the API server does not serve the kind. If the
// user may not list it, it returns none and records that. name is the resource in messages.
func (v *view) list(ctx context.Context, client dynamic.ResourceInterface, name string) ([]unstructured.Unstructured, error) {
	list, err := client.List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case apierrors.IsForbidden(err):
		v.unprofiled = cmp.Or(v.unprofiled, "you may not list "+name+": the effects of HoldProfiles that depend on them are not shown")
		return nil, nil
	case err != nil:
		return nil, v.Explained(err, "list", name)
	}
	return list.Items, nil
}
