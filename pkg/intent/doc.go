// Package intent reads what an Application wants: the manifests, and for each of them a schema of the fields to hold.
// Render applies the layers, each of which overrides the previous one:
//
//	the default schema of a manifest      objects.go makes the manifests; selection.go and
//	                                      selected.go those of spec.select; source.go has those
//	                                      of a template
//	HoldProfiles                          profiles.go; profilenames.go checks their names
//	spec.observerSchema                   fields.go
//	spec.fields                           fields.go; edit.go edits them for hold and free
//	hooks                                 render.go
//
// faults.go returns the validation errors (healthcheck.go those of spec.healthCheckExprs), unknown.go the unknown
// fields, and incomplete.go the Problem of an Application that this version cannot read completely. problem.go
// contains the Problem of an Application or an object.
//
// The package depends on live objects only through selections and rules, and has no client and no clock. It changes
// neither the Application nor the live objects. A Rendering is all or nothing: one validation error makes the whole
// input invalid.
package intent
