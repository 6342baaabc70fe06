package v1alpha1

import (
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/internal/compress"
	"holdfast.dev/holdfast/internal/footprint"
)

// packAbove is the number of bytes of manifests and schemas above which a status contains them compressed.
// They repeat the spec and each other, so they compress well. The controller's stores compress a smaller status
// better together with the spec: with 2 KiB, a held object of 3.5 KB takes 1 KiB more memory.
const packAbove = 64 << 10

// MaxApplicationBytes limits the size of an Application with its status, as JSON. A larger Application has
// a part in slices.
const MaxApplicationBytes = 1536*1024 - 128*1024

// MaxUnpacked limits the manifests and schemas of a status, in bytes. The writer of a status must respect
// it, because readers read little more.
const MaxUnpacked = 32 << 20

// MaxItems limits the manifests of an Application, and its schemas. The memory of a short list of empty objects is more
// than that of a long text.
const MaxItems = 20_000

// MaxRead is the number of bytes to unpack at most: manifests, schemas and the JSON around them.
const MaxRead = MaxUnpacked + 8<<20

// WholeStatus is a status that is marshaled with its manifests and schemas uncompressed, at any size.
//
// +kubebuilder:object:generate=false
type WholeStatus ApplicationStatus

// compressedFields are the fields that are packed together.
type compressedFields struct {
	MangledObserverSchema []runtime.RawExtension `json:"mangledObserverSchema,omitempty"`
	LastAppliedManifest   []runtime.RawExtension `json:"lastAppliedManifest,omitempty"`
	LastObservedManifest  []runtime.RawExtension `json:"lastObservedManifest,omitempty"`
}

// MarshalJSON packs the manifests and schemas if they exceed packAbove.
func (s ApplicationStatus) MarshalJSON() ([]byte, error) {
	whole := WholeStatus(s)
	whole.Record = nil
	n := 0
	for _, list := range [][]runtime.RawExtension{s.MangledObserverSchema, s.LastAppliedManifest, s.LastObservedManifest} {
		for i := range list {
			n += len(list[i].Raw)
		}
	}
	if n > packAbove {
		record, err := pack(compressedFields{s.MangledObserverSchema, s.LastAppliedManifest, s.LastObservedManifest})
		if err != nil {
			return nil, err
		}
		whole.MangledObserverSchema, whole.LastAppliedManifest, whole.LastObservedManifest = nil, nil, nil
		whole.Record = record
	}
	return json.Marshal(whole)
}

// UnmarshalJSON unpacks a packed status. It ignores a record that it cannot read: the controller then loses
// learned values, but never writes a wrong value.
func (s *ApplicationStatus) UnmarshalJSON(raw []byte) error {
	var whole WholeStatus
	if err := json.Unmarshal(raw, &whole); err != nil {
		return err
	}
	var all compressedFields
	if len(whole.Record) > 0 && Unpack(whole.Record, &all) == nil {
		whole.MangledObserverSchema, whole.LastAppliedManifest, whole.LastObservedManifest = all.MangledObserverSchema, all.LastAppliedManifest, all.LastObservedManifest
	}
	whole.Record = nil
	*s = ApplicationStatus(whole)
	return nil
}

// slicedFields are the fields of a status that slices contain.
type slicedFields struct {
	compressedFields
	Resources []ResourceStatus      `json:"resources,omitempty"`
	Services  map[string]string     `json:"services,omitempty"`
	Outputs   *runtime.RawExtension `json:"outputs,omitempty"`
	Accepted  []AcceptedField       `json:"accepted,omitempty"`
	Contested []ContestedField      `json:"contested,omitempty"`
	Reported  []ReportedField       `json:"reported,omitempty"`
}

// Cut removes the fields that slices can contain from a status, and returns them as compressed JSON.
func (s ApplicationStatus) Cut() (rest ApplicationStatus, record []byte, err error) {
	rest = s
	rest.MangledObserverSchema, rest.LastAppliedManifest, rest.LastObservedManifest = nil, nil, nil
	rest.Resources, rest.Services, rest.Outputs, rest.Accepted, rest.Contested, rest.Reported = nil, nil, nil, nil, nil, nil
	record, err = pack(slicedFields{compressedFields{s.MangledObserverSchema, s.LastAppliedManifest, s.LastObservedManifest}, s.Resources, s.Services, s.Outputs, s.Accepted, s.Contested, s.Reported})
	return rest, record, err
}

// Join adds a record of Cut to the status that Cut left.
func (s ApplicationStatus) Join(record []byte) (ApplicationStatus, error) {
	var all slicedFields
	if err := Unpack(record, &all); err != nil {
		return s, err
	}
	s.MangledObserverSchema, s.LastAppliedManifest, s.LastObservedManifest = all.MangledObserverSchema, all.LastAppliedManifest, all.LastObservedManifest
	s.Resources, s.Services, s.Outputs, s.Accepted, s.Contested, s.Reported = all.Resources, all.Services, all.Outputs, all.Accepted, all.Contested, all.Reported
	s.RecordSlices = nil
	return s, nil
}

func pack(all any) ([]byte, error) {
	raw, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	return compress.Encode(raw), nil
}

// Unpack reads compressed JSON. It returns an error if the JSON exceeds MaxRead.
func Unpack(record []byte, into any) error {
	raw, err := compress.Decode(record, MaxRead)
	if err == nil {
		err = json.Unmarshal(raw, into)
	}
	if err != nil {
		return fmt.Errorf("reading a record: %w", err)
	}
	return nil
}

// UnpackList reads a compressed list. It counts the elements before it allocates them, and returns a *footprint.Excess
// if there are more than the given number.
func UnpackList(record []byte, most int) ([]runtime.RawExtension, error) {
	raw, err := compress.Decode(record, MaxRead)
	if errors.Is(err, compress.ErrTooLong) {
		return nil, &footprint.Excess{Limit: MaxRead >> 20, Unit: "MiB of JSON"}
	}
	if err != nil {
		return nil, err
	}
	if n := footprint.Estimate(raw).Elements; n > most {
		return nil, &footprint.Excess{Number: n, Unit: "elements", Limit: most}
	}
	var items []runtime.RawExtension
	err = json.Unmarshal(raw, &items)
	return items, err
}

// RawSize returns the length of lists in JSON, without their brackets.
func RawSize(lists ...[]runtime.RawExtension) (n int) {
	for _, items := range lists {
		for i := range items {
			n += len(items[i].Raw) + len(",")
		}
	}
	return n
}
