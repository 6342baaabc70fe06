package claim

import (
	"maps"
	"slices"
	"strings"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/delta"
	"holdfast.dev/holdfast/pkg/manifest"
	"holdfast.dev/holdfast/pkg/observer"
)

// IsOnlyTracking reports whether a difference is tracking metadata, or adds a map that contains only tracking
// metadata.
func IsOnlyTracking(d delta.Difference) bool {
	if d.Path != "metadata.labels" && d.Path != "metadata.annotations" {
		return IsTrackingPath(d.Path)
	}
	// The difference adds the whole map, because the object has no labels or annotations.
	marks, _ := d.Desired.Any.(map[string]any)
	for key := range marks {
		if !strings.HasPrefix(key, v1alpha1.GroupVersion.Group+"/") {
			return false
		}
	}
	return d.Live.Any == nil && len(marks) > 0
}

// TrackingID returns the value of the tracking annotation, which names the Application and the object. A copy
// of the object under another name does not match it. For example, Deployment web of Application prod/shop has
// prod/shop:apps/Deployment:prod/web.
func TrackingID(app *v1alpha1.Application, id manifest.ID) string {
	return app.Namespace + "/" + app.Name + ":" + identityOf(id)
}

// identityOf returns the part of the tracking annotation that identifies the object, without its version.
func identityOf(id manifest.ID) string {
	return id.Group + "/" + id.Kind + ":" + id.Namespace + "/" + id.Name
}

// IsTrackedBy reports whether a live object has the tracking metadata of the Application for this identity. The label
// is not enough, because a copy of the object under another name has it, too.
func IsTrackedBy(app *v1alpha1.Application, id manifest.ID, live map[string]any) bool {
	return manifest.NestedString(live, "metadata", "labels", v1alpha1.LabelApplicationUID) == string(app.UID) &&
		manifest.NestedString(live, "metadata", "annotations", v1alpha1.AnnotationTrackingID) == TrackingID(app, id)
}

// IsTrackingPath reports whether tracking metadata is at or below a path, such as the path of all labels.
func IsTrackingPath(path string) bool {
	return isAtOrBelow(TrackingKeys, path) || IsSharedTracking(path)
}

// isAtOrBelow reports whether one of the keys is at or below a path.
func isAtOrBelow(keys []TrackingKey, path string) bool {
	return slices.ContainsFunc(keys, func(mark TrackingKey) bool { return observer.IsUnder(mark.Path(), path) })
}

// TrackingKeys are the keys of the tracking metadata of owned objects, with the fields of metadata that have
// them.
var TrackingKeys = []TrackingKey{
	{"labels", v1alpha1.LabelApplicationUID},
	{"annotations", v1alpha1.AnnotationTrackingID},
	{"annotations", v1alpha1.AnnotationAdopted},
}

// TrackingKey is a label or an annotation of the tracking metadata: Field is labels or annotations, and Key the key
// in that map.
type TrackingKey struct{ Field, Key string }

// Path returns the path of the label or annotation.
func (m TrackingKey) Path() string { return "metadata." + m.Field + "['" + m.Key + "']" }

// SharedTrackingKeys are the keys of the tracking metadata of shared objects.
var SharedTrackingKeys = []TrackingKey{
	{"labels", v1alpha1.LabelHeld},
	{"annotations", v1alpha1.AnnotationHolders},
}

// IsSharedTracking reports whether tracking metadata of shared objects is at or below a path.
func IsSharedTracking(path string) bool { return isAtOrBelow(SharedTrackingKeys, path) }

// IsMetadataMap reports whether a path is metadata, all labels or all annotations, which have tracking
// metadata as well.
func IsMetadataMap(path string) bool {
	return path == "metadata" || path == "metadata.labels" || path == "metadata.annotations"
}

// Removals returns the removals of the tracking metadata that a live object has, each with a test of its value. Empty
// values count as absent.
func Removals(live map[string]any, marks []TrackingKey) (fields []delta.Difference) {
	for _, mark := range marks {
		if value := manifest.NestedString(live, "metadata", mark.Field, mark.Key); value != "" {
			path := (*observer.Path)(nil).Field("metadata").Field(mark.Field).Field(mark.Key)
			fields = append(fields, delta.Remove(path, value))
		}
	}
	return fields
}

// Tracking returns the tracking metadata of an object of an Application; nil without a UID.
func Tracking(app *v1alpha1.Application, id manifest.ID) []observer.Mark {
	if app.UID == "" {
		return nil
	}
	return []observer.Mark{
		{Field: "labels", Key: v1alpha1.LabelApplicationUID, Value: string(app.UID)},
		{Field: "annotations", Key: v1alpha1.AnnotationTrackingID, Value: TrackingID(app, id)},
	}
}

// LiveTracking returns the tracking metadata of any Application that a live object has. It omits labels if the desired
// object has none, and so for annotations.
func LiveTracking(live, desired map[string]any) (marks []observer.Mark) {
	for _, mark := range slices.Concat(TrackingKeys, SharedTrackingKeys) {
		value := manifest.NestedString(live, "metadata", mark.Field, mark.Key)
		if value != "" && manifest.NestedMap(desired, "metadata", mark.Field) != nil {
			marks = append(marks, observer.Mark{Field: mark.Field, Key: mark.Key, Value: value})
		}
	}
	return marks
}

// WithoutTracking returns a difference of a shared object for display, without the tracking metadata, which
// has no meaning for users. It returns false if nothing is left.
func WithoutTracking(d delta.Difference) (delta.Difference, bool) {
	for _, mark := range SharedTrackingKeys {
		switch d.Path {
		case mark.Path():
			return d, false
		case "metadata." + mark.Field:
			var left bool
			d.Desired, left = withoutKey(d.Desired, mark.Key)
			d.Live, _ = withoutKey(d.Live, mark.Key)
			if !left && !d.Live.Set {
				return d, false
			}
		}
	}
	return d, true
}

// withoutKey returns a map without a key. The value is not set if the map has no other key.
func withoutKey(v delta.Value, key string) (without delta.Value, left bool) {
	m, isMap := v.Any.(map[string]any)
	if !isMap {
		return v, v.Set
	}
	m = maps.Clone(m)
	delete(m, key)
	return delta.Value{Set: len(m) > 0, Any: m}, len(m) > 0
}
