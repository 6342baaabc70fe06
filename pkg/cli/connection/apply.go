package connection

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"holdfast.dev/holdfast/pkg/cli/files"
)

// configMaps is the resource of the ConfigMaps that contain archives.
var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// ApplyResult is the result of a submission.
type ApplyResult struct {
	// Stored is the Application in the response; with a dry run, the one that would be stored.
	Stored *unstructured.Unstructured
	Done   string // created, configured or unchanged
}

// Apply sends a submission with its slices and its archive. With DryRunServer, the API server validates it and
// stores nothing. force overwrites fields that other clients have set. The error is explained.
//
//	stored Application   request                        Done
//	none                 create by holdfast-cli-create  created
//	created, not taken   patch of managedFields, apply  configured or unchanged
//	applied before       apply by holdfast-cli          configured or unchanged
//	DryRunServer         dry run of an apply            as above
//
// See takeOver for the patch of the managedFields.
func (c *Client) Apply(ctx context.Context, s *files.Submission, dryRun DryRun, force bool) (ApplyResult, error) {
	return (&submitter{c, c.Own.Resource(Applications).Namespace(s.Namespace), s, dryRun, force}).submit(ctx)
}

// submitter sends one submission.
type submitter struct {
	*Client

	// applications is the client for the namespace of the submission.
	applications dynamic.ResourceInterface
	submission   *files.Submission
	dryRun       DryRun // Send or DryRunServer
	force        bool
}

// submit sends the parts in an order in which the controller never finds an incomplete Application: the
// archive and the slices exist before the Application names them. A new Application becomes the owner of the
// archive at the end, because only then its UID is known.
//
//  1. archive   ConfigMap, without an owner if the Application is new
//  2. slices    ApplicationSlices, which the controller deletes if no Application names them
//  3. store     the Application
//  4. archive   again, with the Application as owner
//  5. archive   of the previous submission is deleted
//
// If a later step fails, the objects of the earlier steps remain. Repeating the submission uses them.
func (c *submitter) submit(ctx context.Context) (ApplyResult, error) {
	s := c.submission
	// The stored version shows whether to create or to apply, and the changes of the submission.
	before, err := c.applications.Get(ctx, s.Name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return ApplyResult{}, c.Explained(err, "get", "Application "+s.Namespace+"/"+s.Name)
	}
	if err := c.applyArchive(ctx, before); err != nil {
		return ApplyResult{}, err
	}
	content, parts, err := s.Cut()
	if err == nil && c.dryRun == Send {
		err = c.putSlices(ctx, parts, before)
	}
	if err != nil {
		return ApplyResult{}, err
	}
	result, err := c.store(ctx, content, before)
	if err != nil || c.dryRun != Send || s.Archive == nil {
		return result, err
	}
	if err := c.applyArchive(ctx, result.Stored); err != nil {
		return result, err
	}
	return result, c.dropArchive(ctx, before)
}

// store creates an Application, or applies it if it exists. before is the stored Application, or nil. A
// dry run is always an apply, because the API server can answer it for both.
func (c *submitter) store(ctx context.Context, content map[string]any, before *unstructured.Unstructured) (result ApplyResult, err error) {
	result.Done = "created"
	if before == nil && c.dryRun == Send {
		result.Stored, err = c.create(ctx, content)
		// Another client can have created the Application since the read. It is then applied like any
		// other.
		if !apierrors.IsAlreadyExists(err) {
			return result, c.notApplied(ctx, err, "create")
		}
		if before, err = c.applications.Get(ctx, c.submission.Name, metav1.GetOptions{}); err != nil {
			return result, c.notApplied(ctx, err, "get")
		}
	}
	if c.dryRun == Send {
		// After a create, no applied fields exist, so an apply would conflict with the create and remove
		// nothing.
		if before, err = takeOver(ctx, c.applications, before); err != nil {
			return result, c.notApplied(ctx, err, "patch")
		}
	}
	result.Stored, err = ApplyOne(ctx, c.applications, c.submission.Name, content, c.dryRun, c.force)
	// A dry run cannot convert the created fields first. Without them, the apply would have no conflict.
	if c.dryRun != Send && onlyOurs(err) {
		result.Stored, err = ApplyOne(ctx, c.applications, c.submission.Name, content, c.dryRun, true)
	}
	if err != nil {
		return result, c.notApplied(ctx, err, "patch")
	}
	switch {
	case before == nil:
	case isSame(before, result.Stored):
		result.Done = "unchanged"
	default:
		result.Done = "configured"
	}
	return result, nil
}

// isSame reports whether an apply has changed nothing that a user submits. It ignores the status, which
// the controller may have written in between. It changes neither object.
func isSame(before, after *unstructured.Unstructured) bool {
	before, after = before.DeepCopy(), after.DeepCopy()
	// Every write changes these fields, even if it changes nothing else.
	for _, u := range []*unstructured.Unstructured{before, after} {
		u.SetManagedFields(nil)
		u.SetResourceVersion("")
		delete(u.Object, "status")
	}
	return apiequality.Semantic.DeepEqual(before.Object, after.Object)
}

// ApplyOne sends one object by server-side apply, and returns the stored object. content is any value whose JSON is
// the object. It does not wrap the error of the API server, so that callers can inspect it. FieldValidation is
// strict: a field that the definition in the cluster lacks, for example because it is older, is an error and not
// dropped. Without force, a field of another manager is a conflict (409).
func ApplyOne(ctx context.Context, client dynamic.ResourceInterface, name string, content any, dryRun DryRun, force bool) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", name, err)
	}
	return client.Patch(ctx, name, types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: fieldManager, Force: &force, FieldValidation: metav1.FieldValidationStrict, DryRun: dryRun.Options()})
}

// Wrote reports whether the command line has applied an object. It returns false for nil.
func Wrote(object *unstructured.Unstructured) bool {
	return object != nil && slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return entry.Manager == fieldManager && entry.Operation == metav1.ManagedFieldsOperationApply
	})
}

// notApplied returns an error for an Application that was not stored, with a remedy. 409 has two causes: fields of
// other managers, which the error names, or a resourceVersion that has changed. So has 404: the kind or the
// namespace is missing.
func (c *submitter) notApplied(ctx context.Context, err error, verb string) error {
	s := c.submission
	name := "Application " + s.Namespace + "/" + s.Name
	switch {
	case err == nil:
		return nil
	case apierrors.IsConflict(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict):
		return fmt.Errorf("%s: other clients change it at the same time: repeat the command: %w", name, err)
	case apierrors.IsConflict(err):
		return fmt.Errorf("%s: other clients have set these fields: %w. To overwrite them, add --force-conflicts", name, refusalText(err))
	case apierrors.IsNotFound(err):
		if !c.isInstalled(ctx) {
			return ErrNotInstalled
		}
		return fmt.Errorf("%s: the namespace %s does not exist: to create it, add --create-namespace", name, s.Namespace)
	default:
		return c.Explained(err, verb, name)
	}
}

// isInstalled reports whether the API server serves Applications. It returns true if the user may not list
// them.
func (c *Client) isInstalled(ctx context.Context) bool {
	_, err := c.Own.Resource(Applications).List(ctx, metav1.ListOptions{Limit: 1})
	return !apierrors.IsNotFound(err)
}

// applyArchive writes the archive to its ConfigMap, and does nothing without an archive. If owner is not
// nil, the API server deletes the ConfigMap together with the owner. It overwrites the fields of other
// clients, because the name of the ConfigMap contains the digest of its content.
func (c *submitter) applyArchive(ctx context.Context, owner *unstructured.Unstructured) error {
	s := c.submission
	if s.Archive == nil {
		return nil
	}
	metadata := map[string]any{"name": files.ArchiveName(s.Name, s.Archive), "namespace": s.Namespace}
	if owner != nil {
		metadata["ownerReferences"] = []any{map[string]any{
			"apiVersion": owner.GetAPIVersion(), "kind": owner.GetKind(), "name": owner.GetName(), "uid": string(owner.GetUID()),
		}}
	}
	content := map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata,
		"binaryData": map[string]any{files.ArchiveKey: base64.StdEncoding.EncodeToString(s.Archive)},
	}
	name := metadata["name"].(string)
	_, err := ApplyOne(ctx, c.Own.Resource(configMaps).Namespace(s.Namespace), name, content, c.dryRun, true)
	return c.Explained(err, "patch", "ConfigMap "+s.Namespace+"/"+name)
}

// dropArchive deletes the ConfigMap with the archive of the previous submission. before is the Application
// before this submission, or nil. It recognizes such a ConfigMap by the form of its name, and by the field manager,
// because users can create a ConfigMap with such a name.
func (c *submitter) dropArchive(ctx context.Context, before *unstructured.Unstructured) error {
	s := c.submission
	if before == nil {
		return nil
	}
	old, _, _ := unstructured.NestedString(before.Object, "spec", "csar", "configMapRef", "name")
	if !strings.HasPrefix(old, s.Name+files.ArchiveInfix) || old == files.ArchiveName(s.Name, s.Archive) {
		return nil
	}
	client := c.Own.Resource(configMaps).Namespace(s.Namespace)
	stored, err := client.Get(ctx, old, metav1.GetOptions{})
	if err == nil && Wrote(stored) {
		err = client.Delete(ctx, old, metav1.DeleteOptions{})
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return c.Explained(err, "delete", "ConfigMap "+s.Namespace+"/"+old)
}
