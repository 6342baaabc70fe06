package connection

import (
	"context"
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
)

// DryRun is whether a change is sent and stored. It takes the values of kubectl's --dry-run.
type DryRun string

const (
	// Send stores the change.
	Send DryRun = "none"
	// DryRunClient sends no change.
	DryRunClient DryRun = "client"
	// DryRunServer lets the API server validate the change.
	DryRunServer DryRun = "server"
)

// Options returns the value of dryRun in the options of a request: nil, unless the API server must not
// store the change.
func (d DryRun) Options() []string {
	if d == DryRunServer {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// Patch changes an Application with the field manager of the command line, and returns it. patch is any value whose
// JSON is the patch. With DryRunClient, it reads the Application and applies the patch here. The error is explained.
// With DryRunServer, the API server validates the patch. A JSON Patch whose test operation fails is rejected with
// 422.
func (c *Cluster) Patch(ctx context.Context, name string, kind types.PatchType, patch any, dryRun DryRun) (*unstructured.Unstructured, error) {
	client := c.Own.Resource(Applications).Namespace(c.Namespace)
	if dryRun != DryRunClient {
		body, err := json.Marshal(patch)
		if err != nil {
			return nil, err
		}
		changed, err := client.Patch(ctx, name, kind, body, metav1.PatchOptions{FieldManager: fieldManager, DryRun: dryRun.Options()})
		return changed, c.Explained(err, "patch", "Application "+c.Namespace+"/"+name)
	}
	live, err := client.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, c.Explained(err, "get", "Application "+c.Namespace+"/"+name)
	}
	return live, patchLocally(live, kind, patch)
}

// patchLocally applies a merge patch or a JSON Patch to an object, without the API server. patch is any value whose
// JSON is the patch. It replaces the content of live. Integers remain integers. Unlike the API server, it sets no
// defaults, and validates nothing.
func patchLocally(live *unstructured.Unstructured, kind types.PatchType, patch any) error {
	body, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	before, err := live.MarshalJSON()
	if err != nil {
		return err
	}
	var after []byte
	if kind == types.MergePatchType {
		after, err = jsonpatch.MergePatch(before, body)
	} else if patch, decodeErr := jsonpatch.DecodePatch(body); decodeErr == nil {
		after, err = patch.Apply(before)
	} else {
		err = decodeErr
	}
	if err != nil {
		return fmt.Errorf("patching %s: %w", live.GetName(), err)
	}
	return live.UnmarshalJSON(after)
}

// Delete deletes an Application with this UID. With orphan, it sets the deletion policy Orphan before. It returns nil
// if the Application no longer exists. If another Application has its name now, the UID protects it. The deletion is
// asynchronous: the finalizer of the controller keeps the Application until its objects are deleted or released. An
// error after the patch of the policy leaves the policy in effect, and the command can be repeated.
func (c *Cluster) Delete(ctx context.Context, name string, uid types.UID, orphan bool, dryRun DryRun) error {
	if orphan {
		_, err := c.Patch(ctx, name, types.JSONPatchType, []delta.Op{
			{Op: "test", Path: "/metadata/uid", Value: uid},
			{Op: "add", Path: "/spec/deletionPolicy", Value: v1alpha1.DeletionOrphan},
		}, dryRun)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	if dryRun == DryRunClient {
		return nil
	}
	err := c.Own.Resource(Applications).Namespace(c.Namespace).
		Delete(ctx, name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}, DryRun: dryRun.Options()})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return c.Explained(err, "delete", "Application "+c.Namespace+"/"+name)
}
