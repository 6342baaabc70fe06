// Package template defines how a custom resource becomes an Application.
//
// A Template is pure: it renders manifests and an observer schema from the custom resource, and the status of the
// resource from the Application and the live objects. The loop that reads and writes is in package controller. There
// is one engine for all objects; templates do not write objects in another way. docs/templates.md explains how to
// write a template.
//
// The same custom resource and live objects always give the same Application. So Update writes nothing if nothing has
// changed.
//
//	schema := template.Observe(manifest, "spec.accessModes")
package template
