package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/connection"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/report"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
	"holdfast.dev/holdfast/pkg/plan"
)

// parseObject validates the arguments and flags of `hold KIND/NAME PATH...` and `free KIND/NAME PATH...`. With
// --restore or --leave, PATH can be omitted: all fields of the object are then released.
func (o *editOptions) parseObject(args []string) (err error) {
	if err := errors.Join(o.write.Parse(), o.object.Named(args[:1])); err != nil {
		return err
	}
	o.target.Now, o.resource, o.paths = o.streams.Now, args[0], args[1:]
	switch {
	case o.release.given():
		if o.policy, err = o.release.parse(); err == nil && o.release.wait.Wait && o.write.IsDry() {
			err = errWaitForFree
		}
		if len(o.paths) == 0 {
			o.paths = []string{observer.AllFields}
		}
		return err
	case o.release.wait.Wait:
		return errWaitForFree
	case len(o.paths) == 0:
		return errNoPath
	case o.application != "":
		err = files.ValidName(o.application)
	}
	var ruleErr error
	o.rule, ruleErr = o.ruleFlags.Held()
	return errors.Join(err, ruleErr)
}

// runObject finds the Application of the object, and changes it. To hold fields, it also creates the Application.
//
//	Applications with the object   --application  hold                     free
//	none                           no             creates one              an error
//	none                           web            creates or extends web   an error
//	one                            no             extends it               extends it
//	several                        no             an error                 an error
//	several                        one of them    extends it               extends it
func (o *editOptions) runObject(ctx context.Context) error {
	c, err := o.target.Connection.Connect()
	if err != nil {
		return err
	}
	found, _, err := c.Live(ctx, o.target.Connection, o.object, nil)
	if err != nil {
		return err
	}
	object := found[0]
	with, err := c.ApplicationsWith(ctx, object.ID)
	if err != nil {
		return err
	}
	if o.target.Name, err = o.choose(with, object.ID); err != nil {
		return err
	}
	if o.resource = files.ArgumentOf(object.ID, true); slices.Contains(with, o.target.Name) {
		return o.extend(ctx, object)
	}
	return o.add(ctx, c, object)
}

// choose returns the name of the Application to change or create. with are the Applications that have the object.
// The name of a new Application is that of the object, which is not always valid: RBAC names may contain colons.
func (o *editOptions) choose(with []string, id manifest.ID) (string, error) {
	has := o.application == "" || slices.Contains(with, o.application)
	switch {
	case o.free && (len(with) == 0 || !has):
		return "", fmt.Errorf("no such Application has %s: run `holdfast explain %s` to list the Applications that hold its fields", id, o.object.Names[0][0]+"/"+id.Name)
	case o.application != "":
		return o.application, nil
	case len(with) > 1:
		return "", fmt.Errorf("%s is in %d Applications: %s. Choose one with --application", id, len(with), strings.Join(with, ", "))
	case len(with) == 1:
		return with[0], nil
	}
	if err := files.ValidName(id.Name); err != nil {
		return "", fmt.Errorf("%w. Choose one with --application", err)
	}
	return id.Name, nil
}

// extend changes an Application of the object. For an object that the Application owns, the manifest contains the
// values. For a shared object, the live values are added.
func (o *editOptions) extend(ctx context.Context, object connection.LiveObject) error {
	if o.policy != "" {
		return o.runRelease(ctx)
	}
	d, c, err := o.decided(ctx)
	if err != nil {
		return err
	}
	isShared := func(change plan.Change) bool { return change.ID == object.ID && change.Shared }
	if o.free || !slices.ContainsFunc(d.Changes, isShared) {
		return o.run(ctx)
	}
	e, err := o.editWithValues(d, d.Spec.Manifest, object)
	if err != nil {
		return err
	}
	return o.finish(ctx, d, c, e, len(o.paths), object.ID)
}

// editWithValues returns an edit that adds the live values to the manifest of the object, and then holds the fields.
// stored is the list of manifests that the edit replaces.
//
//	manifest before    hold deployment/web spec.replicas, live value 3
//	{name: web}        {name: web, spec: {replicas: 3}}, fields: hold [spec.replicas]
//	replicas: 2        unchanged: the command reports the correction to 2
//
// If the default schema of the manifest already holds the fields, spec.fields is not changed.
func (o *editOptions) editWithValues(d files.Decision, stored []runtime.RawExtension, object connection.LiveObject) (edit, error) {
	manifests, changed, err := o.withValues(d.Spec.Manifest, object, d.Namespace)
	if err != nil {
		return edit{}, err
	}
	app := d.Application.DeepCopy()
	app.Spec.Manifest = manifests
	after := d.ForApplication(app)
	if after == nil {
		return edit{}, errors.New("the live object cannot be compared with the Application")
	}
	if err := validAfter(after.Plan); err != nil {
		return edit{}, err
	}
	e, err := editOf(*after, object.ID, intent.Edit{Paths: o.paths, Rule: o.rule})
	if err != nil || !changed && len(stored) == len(manifests) {
		return e, err
	}
	if len(e.notes) == len(o.paths) { // the manifest holds the fields
		e.lists, e.after = nil, after.Plan
	}
	e.notes, e.lists = nil, append([]connection.ListEdit{listEdit("manifest", stored, manifests)}, e.lists...)
	e.text = func() (string, error) { return terminal.ObjectYAML(changedLists(e.lists)), nil }
	return e, nil
}

// changedLists returns the part of a spec with the changed lists.
func changedLists(lists []connection.ListEdit) map[string]any {
	spec := map[string]any{}
	for _, list := range lists {
		spec[list.Key] = list.After
	}
	return spec
}

// withValues returns manifests in which that of the object contains the live values at the paths. A field that must be
// absent gets no value, and a field of the API server or of kubectl neither: the copy in kubectl's annotation
// contains the values of a Secret. is reports whether a manifest was changed. The list of the caller is never changed.
func (o *editOptions) withValues(manifests []runtime.RawExtension, object connection.LiveObject, namespace string) (changed []runtime.RawExtension, is bool, err error) {
	list := files.ToList(manifests)
	at := files.Position(list, object.ID, namespace)
	if at < 0 {
		return manifests, false, nil // a template or spec.select defines the object
	}
	content, _ := list[at].(map[string]any)
	before := observer.CopyMap(content)
	live := manifest.WithoutServerFields(object.Object)
	err = files.LiveValues(content, live, object.ID, observer.Context{Shared: true, Type: object.Mapping.Type}, o.paths, o.rule.Mode == v1alpha1.HeldMode(observer.ModeAbsent))
	if err != nil || observer.Equal(before, content) {
		return manifests, false, err
	}
	isValue := func(path string) bool { return !strings.HasPrefix(path, "metadata.") }
	if manifest.IsSecret(object.ID.GroupKind()) && slices.ContainsFunc(o.paths, isValue) {
		return nil, false, fmt.Errorf("users who may read the Application could read the values of %s: to hold them nevertheless, use `holdfast submit --from-live --with-secrets`", object.ID)
	}
	changed = slices.Clone(manifests)
	changed[at] = manifest.EncodeRaw(content)
	return changed, true, nil
}

// add creates an Application that shares the object, or adds the object to the one that --application names.
//
//	the Application of this name   --application   result
//	does not exist                 any             it is created with spec.ownership: Share
//	exists                         no              an error: the user has not chosen it
//	exists                         its name        the manifest is added to it
func (o *editOptions) add(ctx context.Context, c *connection.Cluster, object connection.LiveObject) error {
	stored, err := c.GetApplication(ctx, types.NamespacedName{Namespace: c.Namespace, Name: o.target.Name})
	switch {
	case apierrors.IsNotFound(err):
		stored = &v1alpha1.Application{}
	case err != nil:
		return c.Explained(err, "get", "Application "+c.Namespace+"/"+o.target.Name)
	case o.application == "":
		return fmt.Errorf("the Application %s/%s exists, and does not have %s: add the object to an Application, or create another one, with --application NAME", c.Namespace, stored.Name, object.ID)
	default:
		if err := report.NotEditable(stored); err != nil {
			return err
		}
	}
	d, err := o.draft(ctx, c, stored, object)
	if err != nil {
		return err
	}
	e, err := o.editWithValues(d, stored.Spec.Manifest, object)
	if err != nil {
		return err
	}
	if stored.Name != "" {
		return o.finish(ctx, d, c, e, -1, object.ID)
	}
	spec := changedLists(e.lists)
	spec["ownership"] = string(v1alpha1.OwnershipShare)
	if err := o.submit(ctx, c, spec); err != nil {
		return err
	}
	var effect bytes.Buffer
	report.Edited(&effect, d.Namespace, object.ID, d.Plan, e.after)
	return terminal.Write(o.streams.Err, effect.Bytes())
}

// draft decides about an Application to which a manifest with only the name of the object is added. In an
// Application that owns its objects, the annotation holdfast.dev/ownership makes the one object shared.
func (o *editOptions) draft(ctx context.Context, c *connection.Cluster, stored *v1alpha1.Application, object connection.LiveObject) (files.Decision, error) {
	metadata := map[string]any{"name": object.ID.Name}
	if object.ID.Namespace != "" && object.ID.Namespace != c.Namespace {
		metadata["namespace"] = object.ID.Namespace
	}
	shared := stored.DeepCopy()
	if stored.Name == "" {
		shared.Spec.Ownership = v1alpha1.OwnershipShare
	}
	if shared.Spec.Ownership != v1alpha1.OwnershipShare {
		metadata["annotations"] = map[string]any{v1alpha1.AnnotationOwnership: string(v1alpha1.OwnershipShare)}
	}
	content := map[string]any{"apiVersion": object.Object["apiVersion"], "kind": object.ID.Kind, "metadata": metadata}
	shared.Name, shared.Namespace = o.target.Name, c.Namespace
	shared.Spec.Manifest = append(shared.Spec.Manifest, manifest.EncodeRaw(content))
	after, _, unreadable, err := c.Preview(ctx, &files.Submission{App: shared}, o.streams.Now())
	if err = errors.Join(err, unreadable); err != nil {
		return files.Decision{}, err
	}
	return *after, files.NotDecided(*after)
}

// submit creates the Application as `holdfast submit` does. It prints the same messages as submit, for example about
// missing rights of the ServiceAccount.
func (o *editOptions) submit(ctx context.Context, c *connection.Cluster, spec map[string]any) error {
	s, err := files.NewSubmission(o.target.Name, spec)
	if err != nil {
		return err
	}
	if err := s.SetNamespace(c.Namespace, ""); err != nil {
		return err
	}
	submitting := &submitOptions{WriteFlags: o.write, connection: o.target.Connection, streams: o.streams}
	if err := submitting.check(ctx, s, c.View(s.Known())); err != nil {
		return err
	}
	if submitting.DryRun != connection.DryRunClient {
		return submitting.send(ctx, c, s)
	}

	return submitting.printAll(s)
}
