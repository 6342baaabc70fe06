package connection

import (
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
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
)

// Profiles are the HoldProfiles, and what autoscalers target if one asks for it, as far as
// the user may list them. A cluster whose installation is older has none.
func (v *view) Profiles(ctx context.Context, objects []manifest.ID) (plan.Profiles, error) {
	listed, err := v.list(ctx, v.Own.Resource(v1alpha1.ProfileGroupVersionResource), "holdprofiles."+v1alpha1.GroupVersion.Group)
	if err != nil {
		return plan.Profiles{}, err
	}
	var profiles []*plan.Profile
	for _, item := range listed {
		raw, err := item.MarshalJSON()
		if err != nil {
			return plan.Profiles{}, err
		}
		from, err := cluster.DecodeProfile(raw)
		if err != nil {
			return plan.Profiles{}, err
		}
		if profile, mistakes := plan.ReadProfile(from); mistakes == nil { // the others have no effect, and say so themselves
			profiles = append(profiles, profile)
		}
	}
	var namespaces []string
	for _, id := range objects {
		if id.Namespace != "" && slices.ContainsFunc(profiles, func(p *plan.Profile) bool { return p.AsksForAutoscalersOf(id.GroupKind()) }) {
			namespaces = append(namespaces, id.Namespace)
		}
	}
	slices.Sort(namespaces)
	live := map[manifest.ID]map[string]any{}
	resource := autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers")
	for _, namespace := range slices.Compact(namespaces) {
		autoscalers, err := v.list(ctx, v.Own.Resource(resource).Namespace(namespace), resource.GroupResource().String())
		if err != nil {
			return plan.Profiles{}, err
		}
		for _, item := range autoscalers {
			id := manifest.ID{Group: resource.Group, Kind: item.GetKind(), Namespace: namespace, Name: item.GetName()}
			live[id] = item.Object
		}
	}
	return files.ProfilesOf(profiles, live), nil
}

// list is empty where there is nothing of that kind, and where the user may not list it,
// which is noted.
func (v *view) list(ctx context.Context, client dynamic.ResourceInterface, name string) ([]unstructured.Unstructured, error) {
	list, err := client.List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case apierrors.IsForbidden(err):
		v.unprofiled = append(v.unprofiled, name)
		return nil, nil
	case err != nil:
		return nil, v.Explained(err, "list", name)
	}
	return list.Items, nil
}

// unseenProfiles says what profiles may free or hold all the same; empty if that is known.
func (v *view) unseenProfiles() string {
	if len(v.unprofiled) == 0 {
		return ""
	}
	return "you may not list " + v.unprofiled[0] + ": what HoldProfiles free or hold because of them is not seen"
}
