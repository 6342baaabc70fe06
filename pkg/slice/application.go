package slice

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/compress"
	"holdfast.dev/holdfast/internal/footprint"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// Names returns the names of the slices in the spec and in the status of a stored Application. For one that was
// joined, it still returns those of the record, but not those of the spec.
func Names(app *v1alpha1.Application) []string {
	names := slices.Concat(app.Status.RecordSlices, app.RecordedIn)
	for _, item := range slices.Concat(app.Spec.Manifest, app.Spec.ObserverSchema) {
		names = append(names, elementSlices(item.Raw)...)
	}
	return append(names, app.Status.HistorySlices...)
}

// InSpec reports whether a spec refers to slices.
func InSpec(spec *v1alpha1.ApplicationSpec) bool {
	return slices.ContainsFunc(spec.Manifest, isSlices) || slices.ContainsFunc(spec.ObserverSchema, isSlices)
}

// isSlices reports whether an element of a list refers to slices.
func isSlices(item runtime.RawExtension) bool { return len(elementSlices(item.Raw)) > 0 }

// elementSlices returns the names of the slices that replace an element of a list. It returns nil if the
// element is an ordinary one.
func elementSlices(raw []byte) []string {
	if !bytes.Contains(raw, []byte(`"slices"`)) {
		return nil
	}
	var fields map[string]json.RawMessage
	var names []string
	if json.Unmarshal(raw, &fields) != nil || len(fields) != 1 || json.Unmarshal(fields["slices"], &names) != nil {
		return nil
	}
	return names
}

// Join replaces references to slices by their content. If some slices are unavailable, it joins the others and
// returns an error: an *Unavailable, or the error of get. It does not change the Application, and returns it if it
// refers to no slices. The history remains in its slices: see OlderHistory.
func Join(app *v1alpha1.Application, get Get) (*v1alpha1.Application, error) {
	if len(app.Status.RecordSlices) == 0 && !InSpec(&app.Spec) {
		return app, nil
	}
	whole := *app
	var errManifest, errSchema, errRecord error
	whole.Spec.Manifest, errManifest = joinList(app.Name, app.Spec.Manifest, get)
	whole.Spec.ObserverSchema, errSchema = joinList(app.Name, app.Spec.ObserverSchema, get)
	if names := app.Status.RecordSlices; len(names) > 0 {
		var record []byte
		if record, errRecord = joinData(app.Name, names, get); errRecord == nil {
			whole.Status, errRecord = app.Status.Join(record)
		}
		// The joined status no longer names them, but they must not be deleted.
		if errRecord == nil {
			whole.RecordedIn = names
		}
	}
	return &whole, errors.Join(errManifest, errSchema, errRecord)
}

// joinList returns a list with the content of its slices. If they are unavailable, it returns the list
// unchanged.
func joinList(application string, list []runtime.RawExtension, get Get) ([]runtime.RawExtension, error) {
	if !slices.ContainsFunc(list, isSlices) {
		return list, nil
	}
	var whole []runtime.RawExtension
	left, room := v1alpha1.MaxRead, v1alpha1.MaxItems
	for _, item := range list {
		names := elementSlices(item.Raw)
		if len(names) == 0 {
			whole = append(whole, item)
			continue
		}
		data, err := joinData(application, names, get)
		if err != nil {
			return list, err
		}
		items, err := v1alpha1.UnpackList(data, room)
		if err != nil {
			return list, &Unavailable{Name: names[0], Cause: err}
		}
		if left -= v1alpha1.RawSize(items); left < 0 {
			return list, &Unavailable{Name: names[0], Cause: &footprint.Excess{Limit: v1alpha1.MaxRead >> 20, Unit: "MiB of JSON"}}
		}
		// A slice can be named again and again.
		room -= len(items)
		whole = append(whole, items...)
	}
	return whole, nil
}

// SplitStatus moves the inventory of an Application to slices if the Application, with this status, would otherwise
// exceed the given size in bytes. stored is the status that refers to them. Without parts, stored is the given status.
func SplitStatus(app *v1alpha1.Application, status v1alpha1.ApplicationStatus, bytes int) (stored v1alpha1.ApplicationStatus, parts []v1alpha1.ApplicationSlice, err error) {
	fixed, err := sizeWithoutLists(app)
	if err != nil {
		return status, nil, err
	}
	room := bytes - fixed - v1alpha1.RawSize(app.Spec.Manifest, app.Spec.ObserverSchema)
	// The estimate saves encoding a status that is small enough in any case.
	record := v1alpha1.RawSize(status.MangledObserverSchema, status.LastAppliedManifest, status.LastObservedManifest)
	for _, a := range status.Accepted {
		if record += resourceBytes + len(a.Desired.Raw); a.Accepted != nil {
			record += len(a.Accepted.Raw)
		}
	}
	if record+resourceBytes*len(status.Resources) <= room && status.Outputs == nil {
		return status, nil, nil
	}
	raw, err := json.Marshal(status)
	if err != nil || len(raw) <= room {
		return status, nil, err
	}
	rest, packed, err := status.Cut()
	if err != nil {
		return status, nil, err
	}
	parts, rest.RecordSlices = split(app.Namespace, app.Name, packed)
	return rest, parts, nil
}

// sizeWithoutLists returns the size of an Application as JSON, without its status, manifests and schemas. Its
// annotations and its template can be large, and are in no slice.
func sizeWithoutLists(app *v1alpha1.Application) (int, error) {
	rest := *app
	rest.Status, rest.Spec.Manifest, rest.Spec.ObserverSchema = v1alpha1.ApplicationStatus{}, nil, nil
	raw, err := json.Marshal(rest)
	return len(raw), err
}

// SplitHistory moves history entries that do not fit into the status to slices. The caller puts the names into
// status.historySlices.
func SplitHistory(app *v1alpha1.Application, older []v1alpha1.HistoryEntry) (parts []v1alpha1.ApplicationSlice, names []string, err error) {
	raw, err := json.Marshal(older)
	if err != nil {
		return nil, nil, fmt.Errorf("writing the history: %w", err)
	}
	parts, names = split(app.Namespace, app.Name, compress.Encode(raw))
	return parts, names, nil
}

// OlderHistory returns the history entries in slices, newest first. The error is an *Unavailable, or the
// error of get.
func OlderHistory(app *v1alpha1.Application, get Get) (older []v1alpha1.HistoryEntry, err error) {
	names := app.Status.HistorySlices
	if len(names) == 0 {
		return nil, nil
	}
	data, err := joinData(app.Name, names, get)
	if err != nil {
		return nil, err
	}
	if v1alpha1.Unpack(data, &older) != nil {
		return nil, &Unavailable{Name: names[0], Wrong: true}
	}
	return older, nil
}

// resourceBytes is more than a typical resource needs in the inventory.
const resourceBytes = 1024
