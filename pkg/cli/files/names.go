package files

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"holdfast.dev/holdfast/internal/suggest"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/manifest"
)

// ValidName returns an error if a name is not valid for an Application. It is checked before any request is sent.
// Kubernetes has the same rule for names of custom resources: a DNS subdomain (RFC 1123), at most 253 characters.
func ValidName(name string) error {
	if len(validation.IsDNS1123Subdomain(name)) == 0 {
		return nil
	}
	return fmt.Errorf("%q is not a valid name of an Application: use lower-case letters, digits, '-' and '.'", name)
}

// shortNames maps the short names that "kubectl api-resources" prints for the kinds of Kubernetes to the kinds, in
// lower case. Those of custom kinds are only known to an API server, which is not asked.
var shortNames = map[string]string{
	"cj": "cronjob", "cm": "configmap", "crd": "customresourcedefinition", "csr": "certificatesigningrequest", "ds": "daemonset", "ep": "endpoints", "ev": "event",
	"hpa": "horizontalpodautoscaler", "ing": "ingress", "limits": "limitrange", "netpol": "networkpolicy",
	"no": "node", "ns": "namespace", "pc": "priorityclass", "pdb": "poddisruptionbudget", "po": "pod", "pv": "persistentvolume",
	"pvc": "persistentvolumeclaim", "quota": "resourcequota", "rc": "replicationcontroller", "rs": "replicaset", "sa": "serviceaccount",
	"sc": "storageclass", "sts": "statefulset", "svc": "service", "deploy": "deployment",
}

// FindResource returns the resource that KIND/NAME or KIND/NAMESPACE/NAME identifies. The kind has any form that
// kubectl accepts: deployment, deployments.apps, deploy. The error suggests similar resources, or explains the
// ambiguity.
//
//	deploy/web                 the only Deployment web
//	deployment/shop/web        the Deployment web in the namespace shop
//	ingress.networking/web     the Ingress web of networking.k8s.io
//	service/web                an error if two groups have a Service web
func FindResource(typed string, ids []manifest.ID) (manifest.ID, error) {
	kind, name, both := strings.Cut(typed, "/")
	namespace := ""
	if before, after, has := strings.Cut(name, "/"); has {
		namespace, name = before, after
	}
	if !both || kind == "" || name == "" {
		return manifest.ID{}, fmt.Errorf("%q is not KIND/NAME, for example deployment/web", typed)
	}
	var found []manifest.ID
	var names []string
	for _, id := range ids {
		if id.Name == name && (namespace == "" || id.Namespace == namespace) && isKind(kind, id) {
			found, names = append(found, id), append(names, id.String())
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return manifest.ID{}, fmt.Errorf("the Application has no resource %s%s", typed, suggestResource(typed, ids))
	default:
		return manifest.ID{}, fmt.Errorf("%s is ambiguous, it matches %s: for example, use %s", typed, strings.Join(names, " or "), ArgumentOf(found[0], true))
	}
}

// isKind reports whether a typed kind identifies the kind of a resource: deployment, Deployments,
// deployment.apps, deploy. A group can be a prefix at a dot: ingress.networking matches networking.k8s.io. The
// API server is not asked for plural names, so only regular ones are known.
func isKind(typed string, id manifest.ID) bool {
	typed, group, hasGroup := strings.Cut(strings.ToLower(typed), ".")
	if hasGroup && group != id.Group && !strings.HasPrefix(id.Group, group+".") {
		return false
	}
	kind := strings.ToLower(id.Kind)
	return typed == kind || typed == kind+"s" || typed == kind+"es" || shortNames[typed] == kind ||
		strings.HasSuffix(kind, "y") && typed == strings.TrimSuffix(kind, "y")+"ies"
}

// suggestResource returns a hint with the most similar resource, or with all resources if there are few. The
// hint continues an error message.
func suggestResource(typed string, ids []manifest.ID) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = ArgumentOf(id, false)
	}
	if hint := suggest.DidYouMean(typed, names); hint != "" {
		return hint
	}
	const few = 8
	switch {
	case len(ids) == 0:
		return ": it has none"
	case len(ids) > few:
		return fmt.Sprintf(": to list its %d resources, run: holdfast status", len(ids))
	default:
		return ": it has " + strings.Join(names, ", ")
	}
}

// ArgumentOf returns KIND/NAME of a resource in lower case, as users type it. With withNamespace, a namespaced
// resource is KIND/NAMESPACE/NAME.
//
//	{apps Deployment shop web}, false  deployment/web
//	{apps Deployment shop web}, true   deployment/shop/web
//	{"" Namespace "" shop}, true       namespace/shop
func ArgumentOf(id manifest.ID, withNamespace bool) string {
	kind := strings.ToLower(id.Kind)
	if withNamespace && id.Namespace != "" {
		return kind + "/" + id.Namespace + "/" + id.Name
	}
	return kind + "/" + id.Name
}

// NameOf returns the kind and name of a resource for messages about its Application. It omits the namespace if
// that is the Application's. Characters that a terminal would not show are escaped.
func NameOf(id manifest.ID, namespace string) string {
	if id.Namespace == "" || id.Namespace == namespace {
		return terminal.Visible(id.Kind + " " + id.Name)
	}
	return terminal.Visible(id.Kind + " " + id.Namespace + "/" + id.Name)
}

// IDsOf returns the resources of a decision.
func IDsOf(d Decision) []manifest.ID {
	ids := make([]manifest.ID, len(d.Changes))
	for i, change := range d.Changes {
		ids[i] = change.ID
	}
	return ids
}

// ArgumentsOf returns KIND/NAME of each resource of a decision, in the order of the plan.
func ArgumentsOf(d Decision) (names []string) {
	for _, id := range IDsOf(d) {
		names = append(names, ArgumentOf(id, false))
	}
	return names
}
