package plan

import (
	"encoding/json"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// maxApplicationBytes is what an Application may take with its status. etcd
// refuses requests of more than 1.5 MiB; the rest is for managedFields and for
// what is learned later.
const maxApplicationBytes = 1536*1024 - 128*1024

// inventoryBytes is what a resource takes in the inventory and in messages.
const inventoryBytes = 400

// tooLarge refuses an Application whose status would not fit beside its spec,
// before anything is created: without its status nothing could be learned,
// corrected or deleted.
func tooLarge(p *Plan) *Problem {
	app := p.in.Application
	spec := size(app.Spec) + size(app.ObjectMeta.Annotations)
	status := 0
	for _, res := range p.resources {
		status += inventoryBytes + size(res.entry.Raw()) + size(res.stored())
		projected := res.desired
		if res.live != nil {
			projected = res.live
		}
		status += size(res.entry.Project(res.kind, res.desired, projected))
	}
	if spec+status <= maxApplicationBytes {
		return nil
	}
	return stalled(v1alpha1.ReasonManifestTooLarge,
		"the Application would take %d KiB (spec %d KiB, status %d KiB) of the %d KiB that one object may have: split it into several Applications",
		(spec+status)/1024, spec/1024, status/1024, maxApplicationBytes/1024)
}

// size is the length of a value as JSON.
func size(v any) int {
	raw, err := json.Marshal(v)
	if err != nil {
		return 0
	}
	return len(raw)
}
