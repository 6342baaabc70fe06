package manifest

import (
	"maps"
	"slices"
	"strings"
)

// controllerAnnotations are the annotations that a program writes to live objects, each with the program.
// Users copy them into manifests from the output of kubectl get -o yaml. If they were held, they would be
// contested, or state something false about the object: a claim with bind-completed and without its volume
// is lost, and a token with the UID of an earlier ServiceAccount is deleted.
//
// Annotations that users write, too, are not in the table: pv.kubernetes.io/provisioned-by and gid of a
// volume that a user provides, autoscaling.alpha.kubernetes.io/metrics and behavior, which are the spec of
// autoscaling/v1, and kubectl.kubernetes.io/restartedAt.
//
// Source: the constants of k8s.io/kubernetes v1.36 and of the external CSI controllers.
var controllerAnnotations = map[string]string{
	LastApplied: "kubectl apply",

	"deployment.kubernetes.io/revision":         "the Deployment controller",
	"deployment.kubernetes.io/revision-history": "the Deployment controller",
	"deployment.kubernetes.io/desired-replicas": "the Deployment controller",
	"deployment.kubernetes.io/max-replicas":     "the Deployment controller",
	"deprecated.daemonset.template.generation":  "the API server",

	"autoscaling.alpha.kubernetes.io/conditions":      "the API server",
	"autoscaling.alpha.kubernetes.io/current-metrics": "the API server",

	"pv.kubernetes.io/bind-completed":               "the volume controller",
	"pv.kubernetes.io/bound-by-controller":          "the volume controller",
	"pv.kubernetes.io/migrated-to":                  "the volume controller",
	"volume.kubernetes.io/storage-provisioner":      "the volume controller",
	"volume.beta.kubernetes.io/storage-provisioner": "the volume controller",
	"volume.kubernetes.io/storage-resizer":          "the volume controller",
	"volume.kubernetes.io/selected-node":            "the scheduler",

	"endpoints.kubernetes.io/last-change-trigger-time": "the endpoints controller",
	"endpoints.kubernetes.io/over-capacity":            "the endpoints controller",
	"control-plane.alpha.kubernetes.io/leader":         "the leader of a controller",
	"kubernetes.io/service-account.uid":                "the token controller",
}

// dropControllerAnnotations removes the annotations in controllerAnnotations from metadata, and returns their names. It
// replaces the map of annotations, and does not modify it. metadata can be nil. The names are sorted, so that warnings
// have a stable order.
func dropControllerAnnotations(metadata map[string]any) (dropped []string) {
	annotations, _ := metadata["annotations"].(map[string]any)
	for name := range annotations {
		if controllerAnnotations[name] != "" {
			dropped = append(dropped, name)
		}
	}
	switch len(dropped) {
	case 0:
	case len(annotations):
		delete(metadata, "annotations")
	default:
		own := maps.Clone(annotations)
		maps.DeleteFunc(own, func(name string, _ any) bool { return controllerAnnotations[name] != "" })
		metadata["annotations"] = own
	}
	slices.Sort(dropped)
	return dropped
}

// dropControllerAnnotations removes the annotations in controllerAnnotations, with warnings. WithoutServerFields drops
// the same ones without warnings, for a live object that becomes a manifest.
func (d *draft) dropControllerAnnotations() {
	for _, name := range dropControllerAnnotations(d.metadata()) {
		d.warn(Path{"metadata", "annotations", name}, "dropped: "+controllerAnnotations[name]+" writes it")
	}
}

// helmHook is the annotation with the events for which Helm creates an object of a chart.
const helmHook = "helm.sh/hook"

// otherEvents are the events of Helm that are neither an installation nor an upgrade. Helm ignores the case of events,
// and accepts several with commas between them.
var otherEvents = []string{
	"pre-delete", "post-delete", "pre-rollback", "post-rollback", "test", "test-success", "test-failure",
}

// IsUnusedHook reports whether an object of a rendered Helm chart exists only while Helm deletes, rolls back or tests
// the release. An Application does none of these. If the object would exist with the rest of the chart, for example a
// Job that deletes a database, its effect would be wrong. If one of several events is an installation or upgrade, the
// object is used. An object without the annotation is used.
func IsUnusedHook(content map[string]any) bool {
	text, _ := annotationsOf(content)[helmHook].(string)
	for event := range strings.SplitSeq(text, ",") {
		if !slices.Contains(otherEvents, strings.ToLower(strings.TrimSpace(event))) {
			return false
		}
	}
	return true
}

// leaveOut replaces the findings about an unused hook by one warning. A hook need not be valid, because it is not
// created.
func (d *draft) leaveOut() {
	d.faults, d.warnings = nil, nil
	text, _ := annotationsOf(d.content)[helmHook].(string)
	d.warn(Path{"metadata", "annotations", helmHook}, "the object is left out: only Helm creates it, for the event "+text)
}
