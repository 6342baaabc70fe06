package setup

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/reconcile"
)

// rights are the permissions that the ServiceAccount of an Application needs, and no others.
//
//	{"shop": {{apps deployments, "get,patch,delete"}: ["web"], {apps deployments, "create"}: []}}
type rights struct {
	app     *v1alpha1.Application
	account string // the ServiceAccount, in the namespace of the Application
	// rules contains the names of objects by namespace, resource and verbs; none for all objects of the resource. The
	// namespace "" is for cluster-scoped objects and for all namespaces.
	rules map[string]map[ruleKey][]string
}

// ruleKey identifies a rule. Objects that are created, shared and only read need different verbs.
type ruleKey struct {
	schema.GroupResource

	verbs string // separated by commas
}

// The verbs that the controller uses with the permissions of an Application. A rule for create cannot name objects.
const (
	//
	//	objects               verbs                     resourceNames
	//	owned                 get, patch, delete        yes
	//	owned, to create      create                    no: the API server does not know the name of a new object
	//	shared or selected    get, list, watch, patch   yes, unless spec.select can match all
	//	inputs and archives   get                       yes
	verbsOwn    = "get,patch,delete"
	verbsCreate = "create"
	verbsShare  = "get,list,watch,patch"
	verbsRead   = "get"
)

// rightsOf returns the permissions for an Application of a decision without an error. c finds the resources of
// kinds; if it is nil, they are guessed from the names of the kinds. Pruned objects are left out: a role for the new
// version would otherwise keep rights to objects that no manifest has.
func rightsOf(ctx context.Context, c *connection.Cluster, d files.Decision) rights {
	r := rights{app: d.Application, account: cmp.Or(d.Spec.ServiceAccountName, connection.ApplierName), rules: map[string]map[ruleKey][]string{}}
	for _, change := range d.Changes {
		resource, namespaced := resourceOf(ctx, c, d, change.GVK())
		namespace := change.ID.Namespace
		if !namespaced {
			namespace = ""
		}
		switch {
		case change.Prune:
		case change.Shared:
			r.add(namespace, resource, verbsShare, change.ID.Name)
		default:
			r.add(namespace, resource, verbsOwn, change.ID.Name)
			r.add(namespace, resource, verbsCreate, "")
		}
	}
	r.addSelected(ctx, c, d)
	r.addSources()
	return r
}

// add adds a permission for one object, or for all objects of a resource if name is empty. The permission for all
// objects includes those for single ones: a rule with resourceNames would not allow spec.select to list the others.
func (r rights) add(namespace string, resource schema.GroupResource, verbs, name string) {
	if r.rules[namespace] == nil {
		r.rules[namespace] = map[ruleKey][]string{}
	}
	key := ruleKey{resource, verbs}
	names, known := r.rules[namespace][key]
	if isForAll := known && len(names) == 0; name == "" || isForAll {
		names = nil
	} else {
		names = append(names, name)
	}
	r.rules[namespace][key] = names
}

// addSelected adds the permissions for spec.select, which can match any object of a kind.
//
//	selection                       namespace of the rule  names
//	labels, in the own namespace    shop                   all
//	one name, in the own namespace  shop                   the name
//	all namespaces                  ""                     all, or the name
//	cluster-scoped                  ""                     all, or the name
func (r rights) addSelected(ctx context.Context, c *connection.Cluster, d files.Decision) {
	selections, _ := intent.Selections(d.Application) // validation errors are reported by the decision
	for _, s := range selections {
		resource, namespaced := resourceOf(ctx, c, d, s.GroupVersionKind)
		namespaces := s.Namespaces
		if !namespaced || s.AllNamespaces() {
			namespaces = []string{""}
		}
		for _, namespace := range namespaces {
			r.add(namespace, resource, verbsShare, s.Name())
		}
	}
}

// addSources adds the permissions to read the archive and the inputs of a template. The controller reads them with
// the rights of the ServiceAccount, so that an Application cannot read a Secret that its author may not read.
func (r rights) addSources() {
	read := func(resource string, name string) {
		r.add(r.app.Namespace, schema.GroupResource{Resource: resource}, verbsRead, name)
	}
	var inputs []v1alpha1.InputsSource
	if tosca := r.app.Spec.Tosca; tosca != nil {
		inputs = tosca.InputsFrom
	}
	if csar := r.app.Spec.CSAR; csar != nil {
		inputs = csar.InputsFrom
		if csar.ConfigMapRef != nil {
			read("configmaps", csar.ConfigMapRef.Name)
		}
		if csar.SecretRef != nil {
			read("secrets", csar.SecretRef.Name)
		}
	}
	for _, from := range inputs {
		if from.ConfigMapRef != nil {
			read("configmaps", from.ConfigMapRef.Name)
		}
		if from.SecretRef != nil {
			read("secrets", from.SecretRef.Name)
		}
	}
}

// resourceOf returns the resource of a kind, and whether it is namespaced.
//
//	known by                    resource
//	the cluster                 exact
//	a definition in the files   exact
//	neither                     guessed: Ingress ingresses, Policy policies, Fish fishs
func resourceOf(ctx context.Context, c *connection.Cluster, d files.Decision, gvk schema.GroupVersionKind) (schema.GroupResource, bool) {
	if c != nil {
		if mapping, err := c.Kinds.Mapping(ctx, gvk); err == nil {
			return mapping.Resource.GroupResource(), mapping.Namespaced
		}
	}
	known := files.KindsOf(d.Application)
	resource, _ := apimeta.UnsafeGuessKindToResource(gvk)
	resource.Resource = cmp.Or(known.Plural(gvk.GroupKind()), resource.Resource)
	namespaced, isKnown := known.Namespaced(gvk.GroupKind())
	return resource.GroupResource(), namespaced || !isKnown
}

// objects returns the ServiceAccount, and the roles and bindings that grant it the rights, in this order.
//
//	ServiceAccount shop/holdfast-applier
//	ClusterRole, ClusterRoleBinding holdfast-shop-web    (cluster-scoped objects, and selections in all namespaces)
//	Role, RoleBinding shop/holdfast-web                  (one pair for each namespace)
//
// The names contain the Application, so that each Application has roles of its own.
func (r rights) objects() []any {
	account := map[string]any{"apiVersion": "v1", "kind": "ServiceAccount", "metadata": map[string]any{"name": r.account, "namespace": r.app.Namespace}}
	all := []any{account}
	for _, namespace := range slices.Sorted(maps.Keys(r.rules)) {
		kind, metadata := "Role", map[string]any{"name": "holdfast-" + r.app.Name, "namespace": namespace}
		if namespace == "" {
			kind, metadata = "ClusterRole", map[string]any{"name": "holdfast-" + r.app.Namespace + "-" + r.app.Name}
		}
		all = append(all, map[string]any{
			"apiVersion": rbacVersion, "kind": kind, "metadata": metadata, "rules": r.policy(namespace),
		}, map[string]any{
			"apiVersion": rbacVersion, "kind": kind + "Binding", "metadata": metadata,
			"roleRef":  map[string]any{"apiGroup": rbacGroup, "kind": kind, "name": metadata["name"]},
			"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": r.account, "namespace": r.app.Namespace}},
		})
	}
	return all
}

const (
	rbacGroup   = "rbac.authorization.k8s.io"
	rbacVersion = rbacGroup + "/v1"
)

// keys returns the keys of the rules in a namespace, in order.
func (r rights) keys(namespace string) []ruleKey {
	return slices.SortedFunc(maps.Keys(r.rules[namespace]), func(a, b ruleKey) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.verbs, b.verbs))
	})
}

// policy returns the rules of a role.
//
//   - apiGroups: [apps]
//     resources: [deployments]
//     resourceNames: [web]
//     verbs: [get, patch, delete]
func (r rights) policy(namespace string) (rules []any) {
	for _, key := range r.keys(namespace) {
		rule := map[string]any{
			"apiGroups": []any{key.Group}, "resources": []any{key.Resource}, "verbs": files.ToList(strings.Split(key.verbs, ",")),
		}
		if names := r.rules[namespace][key]; len(names) > 0 {
			slices.Sort(names)
			rule["resourceNames"] = files.ToList(slices.Compact(names))
		}
		rules = append(rules, rule)
	}
	return rules
}

// mostAsked is the maximum number of objects of one resource whose permissions are checked.
const mostAsked = 10

// grants reports whether the Application contains roles or bindings. The API server lets a user write only those whose
// rights the user has.
func (r rights) grants() bool {
	for _, rules := range r.rules {
		for key := range rules {
			if key.Group == rbacGroup {
				return true
			}
		}
	}
	return false
}

// createdNamespaces returns the namespaces that the Application creates and in which it needs a role. The role can be
// created only after its namespace.
func (r rights) createdNamespaces() []string {
	owned := r.rules[""][ruleKey{schema.GroupResource{Resource: "namespaces"}, verbsOwn}]
	return slices.DeleteFunc(slices.Sorted(slices.Values(owned)), func(name string) bool { return r.rules[name] == nil })
}

// command returns the command that grants the rights, for example
//
//	holdfast check web -n shop -o yaml | kubectl apply -f -
//	holdfast check -f web.yaml -n shop -o yaml | kubectl apply -f -
//
// of names the files with the Applications, if there are any. namespace is then the value of -n, or "": it applies to the
// Applications in the files that name none.
func (r rights) command(namespace string, of files.ManifestFlags) string {
	what := r.app.Name + " -n " + r.app.Namespace
	if of.Given() {
		what = of.Arguments()
		if namespace != "" {
			what += " -n " + namespace
		}
	}
	return "holdfast check " + what + " -o yaml | kubectl apply -f -"
}

// missing returns a permission that the ServiceAccount does not have, or "". Unless it is thorough, it asks for one
// verb and one object of each rule. It never asks for more than mostAsked objects of a rule. The result is for a
// message, for example "patch deployments.apps web in the namespace shop". The first missing right is enough,
// because the remedy grants all of them.
func (r rights) missing(ctx context.Context, c *connection.Cluster, thorough bool) (string, error) {
	user := "system:serviceaccount:" + r.app.Namespace + ":" + r.account
	for _, namespace := range slices.Sorted(maps.Keys(r.rules)) {
		for _, key := range r.keys(namespace) {
			names, verbs := r.rules[namespace][key], strings.Split(key.verbs, ",")
			if len(names) == 0 {
				names = []string{""}
			}
			if names = names[:min(len(names), mostAsked)]; !thorough {
				names, verbs = names[:1], verbs[:1]
			}
			for _, verb := range verbs {
				for _, name := range names {
					needed := access{verb: verb, group: key.Group, resource: key.Resource, name: name, namespace: namespace}
					allowed, err := isAllowed(ctx, c, user, needed)
					if err != nil {
						return "", err
					}
					if !allowed {
						return needed.String(), nil
					}
				}
			}
		}
	}
	return "", nil
}

// MissingRights returns a note with the command that grants the rights of an Application to its ServiceAccount; none if
// it has them, or if the user may not ask for the rights of a ServiceAccount. It asks for one verb and one object of each
// rule, so that submit stays fast. `check NAME` asks for all.
func MissingRights(ctx context.Context, c *connection.Cluster, d files.Decision) (notes []string) {
	r := rightsOf(ctx, c, d)
	if missing, err := r.missing(ctx, c, false); err == nil && missing != "" {
		notes = append(notes, "the ServiceAccount "+r.app.Namespace+"/"+r.account+" may not "+missing+". To grant it the rights of the Application, run: "+r.command("", files.ManifestFlags{}))
	}
	return notes
}

// unwatched returns a permission to watch objects of the Application that the controller does not have, and the command
// that grants it; both are empty if there is none. user is the user of the controller. The roles of a controller that may
// not watch the Applications of all namespaces are bound in single namespaces, so the command creates a binding.
func (r rights) unwatched(ctx context.Context, c *connection.Cluster, user string) (missing, command string, err error) {
	allowed := func(needed access) bool {
		ok := false
		if err == nil {
			ok, err = isAllowed(ctx, c, user, needed)
		}
		return ok || err != nil
	}
	for _, namespace := range slices.Sorted(maps.Keys(r.rules)) {
		for _, key := range r.keys(namespace) {
			needed := access{verb: "watch", group: key.Group, resource: key.Resource, namespace: namespace}
			if key.verbs != verbsOwn && key.verbs != verbsShare || allowed(needed) {
				continue
			}
			if allowed(access{verb: "watch", group: v1alpha1.GroupVersion.Group, resource: "applications"}) {
				needed.namespace = "" // the command grants it in all
				return needed.String(), reconcile.GrantWatch(key.GroupResource), err
			}
			return needed.String(), reconcile.GrantRestrictedWatch(key.GroupResource, namespace, user), err
		}
	}
	return "", "", err
}
