package controller

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
	"holdfast.dev/holdfast/pkg/intent"
	"holdfast.dev/holdfast/pkg/reconcile"
	"holdfast.dev/holdfast/pkg/source"
)

// memory is the state of one Application that is kept between two reconciles, in addition to its reconcile.State. It
// may be lost. registry.mu guards seen. Only the worker that reconciles the Application uses state and translated.
type memory struct {
	state *reconcile.State
	// translated is the translation of the template or archive; nil if there is none.
	translated *translation
	// seen is the state that the metrics report.
	seen metricsState
}

// metricsState is the state of one Application that the metrics report. The bools follow from conditions and modes:
// see seenIn and conclusions.observe.
type metricsState struct {
	// ready is the status of the condition Ready; empty before the first reconcile has finished.
	ready     metav1.ConditionStatus
	stalled   bool
	suspended bool
	observing bool
	drifted   bool
	// contestedFields are the contested fields of the last status.
	contestedFields []v1alpha1.ContestedField
}

// translation is a translation of the template or archive of an Application. It does not change after settle. A
// renewal creates a new one.
type translation struct {
	app *v1alpha1.Application // the version that was translated
	// request is the annotation that requested a reconcile, at the start of the renewal. A newer request requires a
	// renewal.
	request string
	// material is the input that was gathered last, even if its translation failed; nil if there was none.
	material *source.Material
	// translation is the result. It is nil until the source has been read for the first time.
	translation *intent.Source
	// failures is the number of consecutive failures to renew the source.
	failures int
	// next is the time of the next poll of the source; zero means never.
	next time.Time
	// coming delivers the next translation, and is nil if none is due. A separate goroutine reads the source, so that
	// a slow server does not block the workers. The channel has room for the result, so the goroutine ends even if
	// the Application is deleted.
	coming chan *translation
}
