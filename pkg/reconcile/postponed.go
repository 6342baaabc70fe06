package reconcile

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/store"
)

// pendingReport is a report that is not written yet. If many Applications drift at once, each has a report for
// seconds. Its lists, which are most of its size, are packed between two reconciliations: pack and whole convert it
// in both directions.
type pendingReport struct {
	// status is the complete status, or, while content is set, the status without its lists.
	status v1alpha1.ApplicationStatus
	// event contains the events of all reconciliations since the last written report; nil if there was none.
	event *plan.Event
	// since is when the first of these reports was postponed.
	since time.Time
	// content is the packed data: first the inventory, up to begin, then the lists. ends lists the end of each
	// part of the lists. content is nil while the status is not packed.
	content store.Packed
	begin   int
	ends    [3][]int
}

// inventory is the part of the status that is packed in the format of the API server.
type inventory struct {
	Resources []v1alpha1.ResourceStatus
	History   []v1alpha1.HistoryEntry
}

// lists returns the lists of the status that are packed, as pointers, in the order of ends.
func (p *pendingReport) lists() [3]*[]runtime.RawExtension {
	return [...]*[]runtime.RawExtension{&p.status.MangledObserverSchema, &p.status.LastAppliedManifest, &p.status.LastObservedManifest}
}

// pack compresses the lists of the status. It does nothing if they are packed.
func (p *pendingReport) pack() {
	if p.content != nil {
		return
	}
	text, err := json.Marshal(inventory{p.status.Resources, p.status.History})
	if err != nil {
		return // a part is invalid JSON: writing the report returns the error
	}
	p.begin, p.status.Resources, p.status.History = len(text), nil, nil
	for i, list := range p.lists() {
		p.ends[i] = make([]int, 0, len(*list))
		for _, part := range *list {
			text = append(text, part.Raw...)
			p.ends[i] = append(p.ends[i], len(text))
		}
		*list = nil
	}
	p.content = store.Pack(text)
}

// whole returns the complete status. It unpacks the lists, which remain unpacked until the next call of pack.
func (p *pendingReport) whole() *v1alpha1.ApplicationStatus {
	if p.content == nil {
		return &p.status
	}
	text, begin := p.content.JSON(), p.begin
	var known inventory
	_ = json.Unmarshal(text[:begin], &known) // pack encoded it
	p.status.Resources, p.status.History = known.Resources, known.History
	for i, list := range p.lists() {
		for _, end := range p.ends[i] {
			*list = append(*list, runtime.RawExtension{Raw: text[begin:end:end]})
			begin = end
		}
	}
	p.content, p.ends = nil, [3][]int{}
	return &p.status
}
