package v1alpha1

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
)

// packAbove is the number of bytes of manifests and schemas above which a status contains them compressed.
// They repeat the spec and each other, so they compress well.
const packAbove = 64 << 10

// MaxApplicationBytes limits the size of an Application with its status, as JSON. A larger Application has
// a part in slices.
const MaxApplicationBytes = 1536*1024 - 128*1024

// MaxUnpacked limits the manifests and schemas of a status, in bytes. The writer of a status must respect
// it, because readers read little more.
const MaxUnpacked = 64 << 20

// maxRead is the number of bytes to unpack at most: manifests, schemas and the JSON around them.
const maxRead = MaxUnpacked + 8<<20

// WholeStatus is a status that is marshaled with its manifests and schemas uncompressed, at any size.
//
// +kubebuilder:object:generate=false
type WholeStatus ApplicationStatus

// compressedFields are the fields that are packed together. Schemas and observed states that follow from
// the desired state are in short form: see follows.go.
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
		record, err := pack(packOf(&s))
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
		_ = all.unpackInto(&whole) // a record that is too large is ignored, too
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

// Cut removes the fields that slices can contain from a status, and returns them as gzipped JSON.
func (s ApplicationStatus) Cut() (rest ApplicationStatus, record []byte, err error) {
	rest = s
	rest.MangledObserverSchema, rest.LastAppliedManifest, rest.LastObservedManifest = nil, nil, nil
	rest.Resources, rest.Services, rest.Outputs, rest.Accepted, rest.Contested, rest.Reported = nil, nil, nil, nil, nil, nil
	record, err = pack(slicedFields{packOf(&s), s.Resources, s.Services, s.Outputs, s.Accepted, s.Contested, s.Reported})
	return rest, record, err
}

// Join adds a record of Cut to the status that Cut left.
func (s ApplicationStatus) Join(record []byte) (ApplicationStatus, error) {
	var all slicedFields
	if err := Unpack(record, &all); err != nil {
		return s, err
	}
	whole := WholeStatus(s)
	if err := all.unpackInto(&whole); err != nil {
		return s, err
	}
	whole.Resources, whole.Services, whole.Outputs, whole.Accepted, whole.Contested, whole.Reported = all.Resources, all.Services, all.Outputs, all.Accepted, all.Contested, all.Reported
	whole.RecordSlices = nil
	return ApplicationStatus(whole), nil
}

func packOf(s *ApplicationStatus) compressedFields {
	all := compressedFields{slices.Clone(s.MangledObserverSchema), s.LastAppliedManifest, slices.Clone(s.LastObservedManifest)}
	for i := range all.LastAppliedManifest {
		desired := all.LastAppliedManifest[i].Raw
		if i < len(all.MangledObserverSchema) {
			all.MangledObserverSchema[i].Raw = shortEntry(all.MangledObserverSchema[i].Raw, desired)
		}
		if i < len(all.LastObservedManifest) {
			all.LastObservedManifest[i].Raw = shortObserved(all.LastObservedManifest[i].Raw, desired)
		}
	}
	return all
}

func (p compressedFields) unpackInto(s *WholeStatus) error {
	n := 0
	for i := range p.LastAppliedManifest {
		desired := p.LastAppliedManifest[i].Raw
		n += len(desired)
		if i < len(p.MangledObserverSchema) {
			p.MangledObserverSchema[i].Raw = wholeEntry(p.MangledObserverSchema[i].Raw, desired)
			n += len(p.MangledObserverSchema[i].Raw)
		}
		if i < len(p.LastObservedManifest) {
			p.LastObservedManifest[i].Raw = wholeObserved(p.LastObservedManifest[i].Raw, desired)
			n += len(p.LastObservedManifest[i].Raw)
		}
		if n > maxRead {
			return fmt.Errorf("reading what is packed: it has more than %d MiB", maxRead>>20)
		}
	}
	s.MangledObserverSchema, s.LastAppliedManifest, s.LastObservedManifest = p.MangledObserverSchema, p.LastAppliedManifest, p.LastObservedManifest
	return nil
}

// writers pools gzip writers, because each allocates most of a MiB.
var writers = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid, so there is no error
	return w
}}

func pack(all any) ([]byte, error) {
	raw, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := writers.Get().(*gzip.Writer)
	defer writers.Put(w)
	w.Reset(&b)
	if _, err := w.Write(raw); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Unpack reads gzipped JSON. It returns an error if the JSON exceeds maxRead.
func Unpack(record []byte, into any) error {
	r, err := gzip.NewReader(bytes.NewReader(record))
	if err != nil {
		return fmt.Errorf("reading what is packed: %w", err)
	}
	raw, err := io.ReadAll(io.LimitReader(r, maxRead))
	if err != nil {
		return fmt.Errorf("reading what is packed: %w", err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("reading what is packed: %w", err)
	}
	return nil
}
