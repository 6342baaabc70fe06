package turn

import (
	"encoding/json"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/cluster"
	"holdfast.dev/holdfast/pkg/plan"
)

// pendingReport is a report that is not written yet. In a storm each Application has one, for
// seconds: between two turns its lists, which are nearly all of it, are packed.
type pendingReport struct {
	status v1alpha1.ApplicationStatus
	event  *plan.Event
	since  time.Time
	// content is what was packed, and ends where each part of the lists ends; nil while the
	// status is whole. Before them is the inventory, up to begin.
	content cluster.Packed
	begin   int
	ends    [3][]int
}

// inventory is what is packed as the API server would have it.
type inventory struct {
	Resources []v1alpha1.ResourceStatus
	History   []v1alpha1.HistoryEntry
}

// lists are those of the status that are packed.
func (p *pendingReport) lists() [3]*[]runtime.RawExtension {
	return [...]*[]runtime.RawExtension{&p.status.MangledObserverSchema, &p.status.LastAppliedManifest, &p.status.LastObservedManifest}
}

func (p *pendingReport) pack() {
	if p.content != nil {
		return
	}
	text, err := json.Marshal(inventory{p.status.Resources, p.status.History})
	if err != nil {
		return // a part that is no JSON: writing the report will say so
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
	p.content = cluster.Pack(text)
}

func (p *pendingReport) whole() *v1alpha1.ApplicationStatus {
	if p.content == nil {
		return &p.status
	}
	text, begin := p.content.JSON(), p.begin
	var known inventory
	_ = json.Unmarshal(text[:begin], &known) // it was encoded by us
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
