package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/facts"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cli/files"
	"holdfast.dev/holdfast/pkg/cli/terminal"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/explain"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/writer"
)

// statusText returns the output of the status command for a view.
func statusText(t *testing.T, columns int, v StatusView) string {
	t.Helper()
	v.Application = explain.ViewOwner{Namespace: "shop", Name: "web"}
	var out bytes.Buffer
	require.NoError(t, (&StatusText{StatusView: v, Output: Output{Palette: palette(t, "never"), Width: columns, Now: now}}).Print(&out))
	return out.String()
}

// resource returns a resource of a view.
func resource(kind, name string, change func(*ResourceView)) ResourceView {
	r := ResourceView{
		id: manifest.ID{Kind: kind, Namespace: "shop", Name: name}, Health: "Current",
		Created: now.Add(-time.Hour).Format(time.RFC3339), Counts: map[explain.State]int{explain.Held: 1},
	}
	if change != nil {
		change(&r)
	}
	return r
}

func TestTheTableFitsTheTerminal(t *testing.T) {
	counts := map[explain.State]int{explain.Held: 12, explain.Learned: 3, explain.Accepted: 2, explain.Free: 40}
	v := StatusView{Ready: "True", Message: "all is well", Resources: []ResourceView{
		resource("Service", "web", nil),
		resource("Deployment", "a-name-as-people-give-them", func(r *ResourceView) { r.Counts = counts }),
	}}
	assert.Contains(t, statusText(t, 110, v), `
RESOURCE                               HEALTH   AGE  CORRECTED  FIELDS
Service web                            Current  60m  never      1 held
Deployment a-name-as-people-give-them  Current  60m  never      12 held, 3 learned, 2 accepted, 40 free
`)
	assert.Equal(t, "1 pushed, 2 reported, 3 free", countsText(map[explain.State]int{explain.Pushed: 1, explain.Reported: 2, explain.Free: 3}))
	assert.Contains(t, statusText(t, 80, v), `
RESOURCE                               HEALTH   AGE
Service web                            Current  60m
    1 held
Deployment a-name-as-people-give-them  Current  60m
    12 held, 3 learned, 2 accepted, 40 free
`)
}

func TestFaultsAreReportedOnce(t *testing.T) {
	const message = "may not create ConfigMap shop/a: forbidden"
	const command = "kubectl create rolebinding applier -n shop --clusterrole=edit --serviceaccount=shop:applier"
	v := StatusView{
		Ready: "False", Reason: v1alpha1.ReasonForbidden, Message: message + ". Grant it: " + command,
		Resources: []ResourceView{resource("ConfigMap", "a", func(r *ResourceView) {
			r.Health, r.Reason, r.Message, r.remedy = "NotFound", v1alpha1.ReasonForbidden, message, &v1alpha1.Remedy{Text: "Grant it", Command: command}
		})},
		Recent: Recent{Events: []EventView{
			{Time: now.Add(-time.Second).Format(time.RFC3339), Type: "Warning", Reason: "Forbidden", Message: message + ". Grant it: " + command, Count: 3},
			{Time: now.Add(-400 * time.Second).Format(time.RFC3339), Type: "Normal", Reason: "Created", Message: "created it", Count: 1},
			{Time: now.Add(-400 * time.Second).Format(time.RFC3339), Type: "Normal", Reason: "Seen", Count: 1},
		}},
	}
	text := statusText(t, 80, v)
	assert.Equal(t, 1, strings.Count(text, "may not create"), text)
	assert.NotContains(t, text, "rolebinding", "the message does not contain the command")
	assert.Contains(t, text, "\n  ! Forbidden: "+message+"\n")
	assert.NotContains(t, text, "Last events")
	var all bytes.Buffer
	require.NoError(t, (&StatusText{StatusView: v, Output: Output{Palette: palette(t, "never"), Width: 80, Now: now}, All: true}).Print(&all))
	assert.Contains(t, all.String(), "\n  !    1s ago  Forbidden (3 times): see above\n    6m40s ago  Created: created it\n    6m40s ago  Seen\n", "times are in one column")

	v.Resources[0].Message, v.Events = "something else", nil
	text = statusText(t, 200, v)
	assert.Contains(t, text, "\n  "+message+". Grant it: "+command+"\n", "no resource has the message, so it is in the headline")
}

func TestReadyMatchesObservedGeneration(t *testing.T) {
	drifted := explain.Field{Path: "data.mode", State: explain.Held, Drift: delta.Changed, Live: delta.NewValue("a"), Desired: delta.NewValue("b")}
	for _, row := range []struct {
		name, want string
		resource   ResourceView
	}{
		{"and so it is", "  = ready\n", resource("ConfigMap", "a", nil)},
		{"a field has drifted since", "  ~ ready at the last reconciliation, and changed since\n", resource("ConfigMap", "a", func(r *ResourceView) { r.fields = []explain.Field{drifted} })},
		{"an object has gone since", "  ~ ready at the last reconciliation, and changed since\n", resource("ConfigMap", "a", func(r *ResourceView) { r.Health = "NotFound" })},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Contains(t, statusText(t, 80, StatusView{Ready: "True", Resources: []ResourceView{row.resource}}), row.want)
		})
	}
}

func TestStatusNamesTheServiceAccount(t *testing.T) {
	assert.Contains(t, statusText(t, 80, StatusView{}), "\n  writes as the controller's default ServiceAccount\n")
	assert.Contains(t, statusText(t, 80, StatusView{ServiceAccount: "default", Created: now.Add(-time.Minute).Format(time.RFC3339)}),
		"\n  submitted 60s ago; writes as the ServiceAccount default\n")
}

// deciding returns an Application in the cluster for which a controller has reported a reason.
func deciding(name string) files.Decision {
	app := &v1alpha1.Application{}
	app.Name, app.Namespace, app.UID = name, "shop", "uid"
	return files.Decision{Subject: files.Subject{Application: app}, Plan: &plan.Plan{}}
}

// For every reason why an Application is not ready there is advice. Exceptions are reasons for which the
// advice is about resources or fields, or for which no action is needed.
func TestForEveryReasonThereIsSomethingToDo(t *testing.T) {
	nothing := map[string]bool{
		v1alpha1.ReasonReady: true, v1alpha1.ReasonRendered: true, v1alpha1.ReasonHeld: true, v1alpha1.ReasonHealthy: true, v1alpha1.ReasonCompleted: true,
		v1alpha1.ReasonSuspended: true, v1alpha1.ReasonObserving: true, v1alpha1.ReasonDeleting: true, v1alpha1.ReasonShuttingDown: true, // about the spec and the deletion
		v1alpha1.ReasonProgressing: true, v1alpha1.ReasonUnhealthy: true, v1alpha1.ReasonContested: true, // about resources and fields
	}
	reasons := facts.Constants(t, "../../api/v1alpha1/reasons.go", "Reason")
	require.Greater(t, len(reasons), 25)
	for _, reason := range reasons {
		next := Advise(deciding("web"), StatusView{Ready: "False", Reason: reason}, "kubectl holdfast")
		if nothing[reason] {
			assert.Empty(t, next, reason)
			continue
		}
		require.Len(t, next, 1, reason)
		assert.NotEmpty(t, next[0].Text, reason)
		if command := next[0].Command; strings.Contains(command, "holdfast") {
			assert.True(t, strings.HasPrefix(command, "kubectl holdfast "), command)
		}
	}
}

func TestAdvice(t *testing.T) {
	contested := explain.Field{Path: "spec.template.spec.containers[name=web].image", State: explain.Contested, Drift: delta.Changed, Actors: explain.Actors{Writer: writer.Writer{Manager: "rival"}}}
	lasting := explain.Field{Path: "data.a", State: explain.Held, Drift: delta.Changed, Corrected: true}
	dropped := explain.Field{Path: "spec.replcas", State: explain.Accepted, Desired: delta.NewValue(int64(2))}
	grant := func(name string) ResourceView {
		return resource("ConfigMap", name, func(r *ResourceView) {
			r.Reason, r.Message, r.remedy = v1alpha1.ReasonForbidden, "may not create it", &v1alpha1.Remedy{Text: "Grant it", Command: "kubectl create rolebinding x --serviceaccount=shop:applier"}
		})
	}
	watch := func(kind string) ResourceView {
		return resource(kind, "a", func(r *ResourceView) {
			r.Reason, r.Message, r.remedy = v1alpha1.ReasonForbidden, "the controller may not watch it", &v1alpha1.Remedy{Text: "Grant it", Command: "kubectl create clusterrole " + kind}
		})
	}
	rejected := resource("Service", "web", func(r *ResourceView) {
		r.Reason, r.Message, r.fields = v1alpha1.ReasonRejected, "it is immutable", []explain.Field{lasting}
		r.remedy = &v1alpha1.Remedy{Text: "delete it", Command: "kubectl delete services web -n shop"}
	})
	for _, row := range []struct {
		name string
		view StatusView
		want []Advice
	}{
		{"nothing is wrong", StatusView{Ready: "True", Resources: []ResourceView{resource("Service", "web", nil)}}, nil},
		{
			"the controller has not looked", StatusView{Ready: "Unknown", Reason: v1alpha1.ReasonWaiting, submission: submission{pending: true}},
			[]Advice{
				{"If this lasts, check that a controller runs and selects it", "holdfast check web -n shop"},
			},
		},
		{
			"rights are missing for two of a kind", StatusView{Ready: "False", Reason: v1alpha1.ReasonForbidden, Resources: []ResourceView{grant("a"), grant("b")}},
			[]Advice{{"If the ServiceAccount lacks the right to write ConfigMap a and similar objects, grant it. The controller retries automatically", "kubectl create rolebinding x --serviceaccount=shop:applier"}},
		},
		{
			"the controller lacks rights, too", StatusView{Ready: "False", Reason: v1alpha1.ReasonForbidden, Resources: []ResourceView{watch("X"), watch("Y"), grant("a")}},
			[]Advice{
				{"Grant the controller the right to watch X a and similar objects. The controller retries automatically", "kubectl create clusterrole X"},
				{"Grant the controller the right to watch Y a and similar objects. The controller retries automatically", "kubectl create clusterrole Y"},
				{"If the ServiceAccount lacks the right to write ConfigMap a and similar objects, grant it. The controller retries automatically", "kubectl create rolebinding x --serviceaccount=shop:applier"},
			},
		},
		{
			"a field is immutable", StatusView{Ready: "False", Reason: v1alpha1.ReasonRejected, Resources: []ResourceView{rejected}},
			[]Advice{
				{"Correct the rejected fields, and submit it again. To list the fields to write, run:", "holdfast diff web -n shop"},
				{"delete it", "kubectl delete services web -n shop"},
			},
		},
		{
			"a resource is not healthy", StatusView{Ready: "False", Reason: v1alpha1.ReasonUnhealthy, Resources: []ResourceView{resource("Deployment", "web", func(r *ResourceView) { r.Health = "Failed" })}},
			[]Advice{{"Find out why Deployment web is not healthy", "kubectl describe deployment web -n shop"}},
		},
		{
			"a resource of a custom kind is not healthy", StatusView{Ready: "False", Reason: v1alpha1.ReasonUnhealthy, Resources: []ResourceView{resource("Service", "web", func(r *ResourceView) { r.Health, r.id.Group = "Failed", "serving.knative.dev" })}},
			[]Advice{{"Find out why Service web is not healthy", "kubectl describe service.serving.knative.dev web -n shop"}},
		},
		{
			"a contested field whose path has shell characters", StatusView{Ready: "False", Reason: v1alpha1.ReasonContested, Resources: []ResourceView{resource("Deployment", "web", func(r *ResourceView) { r.fields = []explain.Field{contested} })}},
			[]Advice{{
				"Stop rival from writing spec.template.spec.containers[name=web].image, or free it",
				"holdfast free web deployment/web 'spec.template.spec.containers[name=web].image' -n shop",
			}},
		},
		{
			"drift that is not corrected", StatusView{Ready: "True", Resources: []ResourceView{resource("ConfigMap", "a", func(r *ResourceView) { r.fields = []explain.Field{lasting, lasting} })}},
			[]Advice{{"If the drift lasts, check that the controller runs and can write", "holdfast explain web configmap/a data.a -n shop"}},
		},
		{
			"a field that the API server drops", StatusView{Ready: "True", Resources: []ResourceView{resource("Deployment", "web", func(r *ResourceView) { r.fields = []explain.Field{dropped} })}},
			[]Advice{{"Check the spelling of spec.replcas: the API server drops it", "holdfast explain web deployment/web spec.replcas -n shop"}},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.want, Advise(deciding("web"), row.view, "holdfast"))
		})
	}
	t.Run("drift while the spec is invalid", func(t *testing.T) {
		d := deciding("web")
		d.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionRendered, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonManifestInvalid}}
		drifted := resource("ConfigMap", "a", func(r *ResourceView) { r.fields = []explain.Field{lasting} })
		view := StatusView{Ready: "False", Reason: v1alpha1.ReasonManifestInvalid, Resources: []ResourceView{drifted}}
		for _, advice := range Advise(d, view, "holdfast") {
			assert.NotContains(t, advice.Text, "drift")
		}
	})
}

func TestLargeRecordsAreSplit(t *testing.T) {
	view := StatusView{Ready: "False", Reason: v1alpha1.ReasonManifestTooLarge}
	d := deciding("web")
	d.Spec.Manifest = make([]runtime.RawExtension, 2)
	assert.Equal(t, []Advice{{"Split it into several Applications", ""}}, Advise(d, view, "holdfast"))
	d.Spec.Manifest = d.Spec.Manifest[:1]
	assert.Equal(t, []Advice{{"Make the object smaller, or observe fewer of its fields, and submit it again", ""}}, Advise(d, view, "holdfast"))
}

func TestAdviceForTheStateOfAnApplication(t *testing.T) {
	suspended := deciding("web")
	suspended.Spec.Suspend = true
	assert.Equal(t, []Advice{{"Nothing is corrected while it is suspended. To resume it, run:", "holdfast resume web -n shop"}},
		Advise(suspended, StatusView{Ready: "False", Reason: v1alpha1.ReasonSuspended}, "holdfast"))

	deleted := deciding("web")
	deleted.DeletionTimestamp = &metav1.Time{Time: now}
	assert.Equal(t, []Advice{{"Remove the cause given in the message. The controller retries automatically. To retry now, run:", "holdfast reconcile web -n shop"}},
		Advise(deleted, StatusView{Ready: "False", Reason: v1alpha1.ReasonRejected}, "holdfast"))

	owned := deciding("db-1")
	isController := true
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: "fnjoin.com/v1", Kind: "Mysql", Name: "db-1", Controller: &isController}}
	field := explain.Field{Path: "data.mode", State: explain.Contested, Drift: delta.Changed, Actors: explain.Actors{Writer: writer.Writer{Manager: "rival"}}}
	assert.Equal(t, []Advice{{"Stop rival from writing data.mode", "holdfast explain db-1 configmap/config data.mode -n shop"}},
		Advise(owned, StatusView{Ready: "True", Resources: []ResourceView{resource("ConfigMap", "config", func(r *ResourceView) { r.fields = []explain.Field{field} })}}, "holdfast"))

	mark := explain.Field{Path: "metadata.labels['holdfast.dev/application-uid']", State: explain.Contested, Drift: delta.Missing}
	assert.Equal(t, []Advice{{
		"Stop the other client from writing " + mark.Path,
		`holdfast explain web configmap/config 'metadata.labels['\''holdfast.dev/application-uid'\'']' -n shop`,
	}}, Advise(deciding("web"), StatusView{Ready: "True", Resources: []ResourceView{resource("ConfigMap", "config", func(r *ResourceView) { r.fields = []explain.Field{mark} })}}, "holdfast"))

	file := deciding("web")
	file.UID, file.Document = "", manifest.Document{File: "my app.yaml"}
	assert.Equal(t, []Advice{{"Submit it", "holdfast submit -f 'my app.yaml'"}}, Advise(file, StatusOf(file), "holdfast"))
	assert.Contains(t, statusText(t, terminal.PlainWidth, StatusOf(file)), "Application shop/web  ~ not submitted\n")
}

// Only the controller knows why it cannot delete an object.
func TestAFailedDeletionKeepsItsReason(t *testing.T) {
	deletion := explain.Explanation{ID: manifest.ID{Kind: "ConfigMap", Namespace: "shop", Name: "a"}, Change: plan.Change{Action: plan.Delete}}
	recorded := v1alpha1.ResourceStatus{Health: "Current", Reason: v1alpha1.ReasonDeleting, Message: "may not delete it"}
	r := resourceView(&v1alpha1.Application{}, deletion, recorded, map[string]any{"apiVersion": "v1", "kind": "ConfigMap"})
	assert.Equal(t, "may not delete it", r.Message)
	recorded.Reason, recorded.Message = v1alpha1.ReasonProgressing, "Replicas: 0/1"
	r = resourceView(&v1alpha1.Application{}, deletion, recorded, map[string]any{"apiVersion": "v1", "kind": "ConfigMap"})
	assert.Equal(t, "no longer desired: the controller deletes it", r.Message)

	app := &v1alpha1.Application{}
	app.DeletionTimestamp = &metav1.Time{Time: now}
	app.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: "False", Reason: v1alpha1.ReasonShutdownFailed}}
	r = resourceView(app, deletion, recorded, map[string]any{"apiVersion": "v1", "kind": "ConfigMap"})
	assert.Equal(t, "no longer desired, but kept: the shutdown has failed", r.Message, "as in the condition")
}
