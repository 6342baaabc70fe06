package mysql_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/mysql/v1"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/mysql"
	"holdfast.dev/holdfast/pkg/template"
)

var noon = metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))

func id(group, kind string) manifest.ID {
	return manifest.ID{Group: group, Kind: kind, Namespace: "shop", Name: "db"}
}

// all returns all objects of a database, with the given StatefulSet.
func all(set map[string]any) template.Live {
	return template.Live{
		id("apps", "StatefulSet"): set, id("", "Service"): {"kind": "Service"}, id("", "Secret"): {"kind": "Secret"},
	}
}

func set(generation, observed, ready, replicas int64) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"generation": generation},
		"status":   map[string]any{"observedGeneration": observed, "readyReplicas": ready, "replicas": replicas},
	}
}

func withClaim(live template.Live, phase string) template.Live {
	live[manifest.ID{Kind: "PersistentVolumeClaim", Namespace: "shop", Name: "db-data"}] = map[string]any{"status": map[string]any{"phase": phase}}
	return live
}

func without(live template.Live, missing manifest.ID) template.Live {
	delete(live, missing)
	return live
}

func application(conditions ...metav1.Condition) *v1alpha1.Application {
	return &v1alpha1.Application{
		ObjectMeta: metav1.ObjectMeta{Name: "db", Generation: 3},
		Status:     v1alpha1.ApplicationStatus{ObservedGeneration: 3, Conditions: conditions},
	}
}

func ready() metav1.Condition {
	return metav1.Condition{Type: "Ready", Status: "True", Reason: "Ready", Message: "6 resources, 99 held fields in sync"}
}

func notReady(reason, message string) metav1.Condition {
	return metav1.Condition{Type: "Ready", Status: "False", Reason: reason, Message: message}
}

func TestStatus(t *testing.T) {
	refusal := errors.Join(
		&template.ValidationError{Path: manifest.Path{"spec", "cpu"}, Reason: "SpecInvalid", Message: "is odd"},
		&template.ValidationError{Path: manifest.Path{"spec", "memory"}, Reason: "SpecInvalid", Message: "is odd, too"})
	stalled := metav1.Condition{Type: "Stalled", Status: "True", Reason: "Forbidden", Message: "may not create Secret shop/db"}
	for _, row := range []struct {
		name     string
		seen     template.Seen
		ready    bool
		expected map[string]string // condition → status and reason
		message  string            // of Ready
	}{
		{
			"one ready replica of one is available", template.Seen{Application: application(ready()), Live: all(set(2, 2, 1, 1))},
			true, map[string]string{"StatefulSet": "AVAILABLE", "Service": "AVAILABLE", "Secret": "AVAILABLE", "Ready": "True Ready"}, "accepts connections",
		},
		{
			"a Pod that starts is being created", template.Seen{Application: application(notReady("Progressing", "…")), Live: all(set(2, 2, 0, 1))},
			false, map[string]string{"StatefulSet": "CREATING", "Service": "AVAILABLE", "Secret": "AVAILABLE", "Ready": "False Progressing"},
			"waiting for the Pod of the StatefulSet to be ready",
		},
		{
			"a Pod that waits for its volume names the claim", template.Seen{
				Application: application(notReady("Progressing", "…")), Live: withClaim(all(set(2, 2, 0, 1)), "Pending"),
			},
			false, map[string]string{"StatefulSet": "CREATING", "Service": "AVAILABLE", "Secret": "AVAILABLE", "Ready": "False Progressing"},
			"waiting for the PersistentVolumeClaim db-data to be bound to a volume",
		},
		{
			"a volume that is bound is not waited for", template.Seen{
				Application: application(notReady("Progressing", "…")), Live: withClaim(all(set(2, 2, 0, 1)), "Bound"),
			},
			false, map[string]string{"StatefulSet": "CREATING", "Service": "AVAILABLE", "Secret": "AVAILABLE", "Ready": "False Progressing"},
			"waiting for the Pod of the StatefulSet to be ready",
		},
		{
			"two Pods are one too many", template.Seen{Application: application(ready()), Live: all(set(2, 2, 1, 2))},
			false, map[string]string{"StatefulSet": "CREATING", "Service": "AVAILABLE", "Secret": "AVAILABLE", "Ready": "False Progressing"},
			"waiting for the Pod of the StatefulSet to be ready",
		},
		{
			"the status of an earlier generation does not count", template.Seen{Application: application(ready()), Live: all(set(2, 1, 1, 1))},
			false, map[string]string{"StatefulSet": "CREATING", "Service": "AVAILABLE", "Secret": "AVAILABLE", "Ready": "False Progressing"},
			"waiting for the Pod of the StatefulSet to be ready",
		},
		{
			"without its Service it is not ready", template.Seen{Application: application(notReady("Progressing", "…")), Live: without(all(set(1, 1, 1, 1)), id("", "Service"))},
			false, map[string]string{"StatefulSet": "AVAILABLE", "Service": "MISSING", "Secret": "AVAILABLE", "Ready": "False Progressing"},
			"waiting for the Service to be created",
		},
		{
			"an object that is being deleted is missing", template.Seen{Application: application(notReady("Progressing", "…")), Live: template.Live{
				id("apps", "StatefulSet"): set(1, 1, 1, 1), id("", "Service"): {},
				id("", "Secret"): {"metadata": map[string]any{"deletionTimestamp": "2026-01-01T00:00:00Z"}},
			}},
			false, map[string]string{"StatefulSet": "AVAILABLE", "Service": "AVAILABLE", "Secret": "MISSING", "Ready": "False Progressing"},
			"waiting for the Secret to be created",
		},
		{
			"before there is an Application everything is missing", template.Seen{Live: template.Live{}},
			false, map[string]string{"StatefulSet": "MISSING", "Service": "MISSING", "Secret": "MISSING", "Ready": "False Progressing"},
			"waiting for the StatefulSet to be created",
		},
		{
			"a spec that is not taken in yet is not ready, though clients can work", template.Seen{Application: &v1alpha1.Application{
				ObjectMeta: metav1.ObjectMeta{Generation: 4}, Status: v1alpha1.ApplicationStatus{ObservedGeneration: 3, Conditions: []metav1.Condition{ready()}},
			}, Live: all(set(2, 2, 1, 1))},
			true, map[string]string{"StatefulSet": "AVAILABLE", "Service": "AVAILABLE", "Secret": "AVAILABLE", "Ready": "False Progressing"},
			"waiting for the controller to apply the current spec to its Application",
		},
		{
			"a spec that is refused is said, and the database runs on", template.Seen{Application: application(ready()), Live: all(set(2, 2, 1, 1)), Refusal: refusal},
			true, map[string]string{"StatefulSet": "AVAILABLE", "Service": "AVAILABLE", "Secret": "AVAILABLE", "Ready": "False SpecInvalid", "Stalled": "True SpecInvalid"},
			"spec.cpu: is odd; spec.memory: is odd, too",
		},
		{
			"what passes by itself is not stalled", template.Seen{Live: template.Live{}, Refusal: &template.ValidationError{Reason: template.ReasonWaiting, Message: "is still being deleted"}},
			false, map[string]string{"StatefulSet": "MISSING", "Service": "MISSING", "Secret": "MISSING", "Ready": "False Waiting"}, "is still being deleted",
		},
		{
			"a stalled Application has a reason", template.Seen{Application: application(notReady("Forbidden", "…"), stalled), Live: template.Live{}},
			false, map[string]string{"StatefulSet": "MISSING", "Service": "MISSING", "Secret": "MISSING", "Ready": "False Forbidden", "Stalled": "True Forbidden"},
			"may not create Secret shop/db",
		},
		{
			"the obstacle of an Application is reported", template.Seen{Application: application(notReady("Suspended", "suspended: nothing is corrected")), Live: all(set(2, 2, 1, 1))},
			true, map[string]string{"StatefulSet": "AVAILABLE", "Service": "AVAILABLE", "Secret": "AVAILABLE", "Ready": "False Suspended"},
			"Application db: suspended: nothing is corrected",
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.seen.Object = resourceWith(nil)
			status := statusOf(t, row.seen)
			assert.Equal(t, row.ready, status.Ready)
			said := map[string]string{}
			for _, c := range status.Conditions {
				said[c.Type] = string(c.Status)
				if c.Reason != "" {
					said[c.Type] += " " + c.Reason
				}
				if c.Type == "Ready" {
					assert.Equal(t, row.message, c.Message)
				}
				assert.Equal(t, noon, c.LastTransitionTime)
			}
			assert.Equal(t, row.expected, said)
			assert.Equal(t, int64(7), status.ObservedGeneration)
			assert.Equal(t, &v1.Connection{Host: "db.shop.svc", Port: 3306, SecretName: "db"}, status.Connection)
		})
	}
}

// resourceWith returns a Mysql with the given status.
func resourceWith(status map[string]any) map[string]any {
	object := map[string]any{
		"apiVersion": "fnjoin.com/v1", "kind": "Mysql",
		"metadata": map[string]any{"name": "db", "namespace": "shop", "generation": int64(7)},
	}
	if status != nil {
		object["status"] = status
	}
	return object
}

func statusOf(t *testing.T, seen template.Seen) v1.MysqlStatus {
	t.Helper()
	if seen.Now.IsZero() {
		seen.Now = noon
	}
	status, err := mysql.Template{}.Status(seen)
	require.NoError(t, err)
	raw, err := json.Marshal(status)
	require.NoError(t, err)
	var typed v1.MysqlStatus
	require.NoError(t, json.Unmarshal(raw, &typed))
	for i := range typed.Conditions {
		typed.Conditions[i].LastTransitionTime = metav1.NewTime(typed.Conditions[i].LastTransitionTime.UTC())
	}
	return typed
}

func TestTransitionTimeChangesWithStatus(t *testing.T) {
	first, err := mysql.Template{}.Status(template.Seen{Object: resourceWith(nil), Application: application(notReady("Progressing", "…")), Live: all(set(2, 2, 0, 1)), Now: noon})
	require.NoError(t, err)
	later := metav1.NewTime(noon.Add(time.Hour))

	again := statusOf(t, template.Seen{Object: resourceWith(first), Application: application(notReady("Progressing", "…")), Live: all(set(2, 2, 0, 1)), Now: later})
	for _, c := range again.Conditions {
		assert.Equal(t, noon, c.LastTransitionTime, c.Type)
	}

	now := statusOf(t, template.Seen{Object: resourceWith(first), Application: application(ready()), Live: all(set(2, 2, 1, 1)), Now: later})
	moved := map[string]metav1.Time{}
	for _, c := range now.Conditions {
		moved[c.Type] = c.LastTransitionTime
	}
	assert.Equal(t, map[string]metav1.Time{"Ready": later, "StatefulSet": later, "Service": noon, "Secret": noon}, moved)
}

// A status in the format of the first version of the definition is read, and its times are kept.
func TestPreviousStatusFormatIsRead(t *testing.T) {
	status := statusOf(t, template.Seen{Application: application(ready()), Live: all(set(2, 2, 0, 1)), Object: resourceWith(map[string]any{
		"ready": false,
		"conditions": []any{
			map[string]any{"lastTransitionTime": "2022-11-01T17:41:31.957460-04:00", "status": "AVAILABLE", "type": "Service"},
			map[string]any{"lastTransitionTime": "2022-11-01T17:41:38.431363-04:00", "status": "CREATING", "type": "StatefulSet"},
		},
	})})
	for _, c := range status.Conditions {
		if c.Type == "Service" || c.Type == "StatefulSet" {
			assert.Equal(t, 2022, c.LastTransitionTime.Year(), c.Type)
		}
	}
}

func TestStatusWithoutLiveObjectsIsKept(t *testing.T) {
	known, err := mysql.Template{}.Status(template.Seen{Object: resourceWith(nil), Application: application(ready()), Live: all(set(2, 2, 1, 1)), Now: noon})
	require.NoError(t, err)
	stalled := metav1.Condition{Type: "Stalled", Status: "True", Reason: "Forbidden", Message: "may not watch secrets"}
	status := statusOf(t, template.Seen{Object: resourceWith(known), Application: application(notReady("Forbidden", "…"), stalled), Live: nil})
	assert.True(t, status.Ready)
	assert.Len(t, status.Conditions, 5)
}

// The status contains the version of the server that last accepted connections.
func TestVersionOfStatus(t *testing.T) {
	running := func(image string, updated, ready int64) template.Live {
		s := set(2, 2, ready, 1)
		s["spec"] = map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{
			map[string]any{"name": "proxy", "image": "proxy:1"}, map[string]any{"name": "mysql", "image": image},
		}}}}
		s["status"].(map[string]any)["updatedReplicas"] = updated
		return all(s)
	}
	for _, row := range []struct {
		name     string
		live     template.Live
		expected string
	}{
		{"a server that accepts connections has its version", running("docker.io/library/mysql:9.1.0", 1, 1), "9.1.0"},
		{"a server that has never started does not count", running("docker.io/library/mysql:9.99", 1, 0), "8.4"},
		{"a server whose Pod is not replaced yet does not count", running("docker.io/library/mysql:9.99", 0, 1), "8.4"},
		{"a server of another image does not count", running("example.com/mysql:9.1.0", 1, 1), "8.4"},
		{"without a StatefulSet the version is kept", template.Live{}, "8.4"},
		{"with unknown live objects the version is kept", nil, "8.4"},
	} {
		t.Run(row.name, func(t *testing.T) {
			seen := template.Seen{Object: resourceWith(map[string]any{"version": "8.4"}), Application: application(ready()), Live: row.live}
			assert.Equal(t, row.expected, statusOf(t, seen).Version)
		})
	}
}
