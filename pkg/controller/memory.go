package controller

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/plan"
	"holdfast.dev/holdfast/pkg/source"
	"holdfast.dev/holdfast/pkg/turn"
)

// memory is what is remembered of one Application between two reconciles, beside what
// its turns do. It may be lost.
type memory struct {
	turns *turn.State
	// interval is how often to look again though nothing happens; 0: as often
	// as at all Applications.
	interval time.Duration
	// translated is what was made of its template or archive.
	translated *translation
	// seen is what the metrics tell of the Application.
	seen metricsState
}

// metricsState is what the metrics tell of one Application.
type metricsState struct {
	ready     metav1.ConditionStatus
	stalled   bool
	suspended bool
	observing bool
	drifted   bool
	contested int
	// contestedFields are those of the last status.
	contestedFields []v1alpha1.ContestedField
}

// translation is what was made of the template or archive of an Application.
type translation struct {
	app     *v1alpha1.Application // that it was made for
	request string
	// material is what was translated last, well or not; nil if nothing was had.
	material *source.Material
	// translation is nil while the source is looked at for the first time.
	translation *plan.Source
	failures    int
	// next is when to look at the source again; zero: never.
	next time.Time
	// coming brings what follows. The source is looked at beside the workers: a
	// server that is slow must keep no Application from being held.
	coming chan *translation
}
