// Package template says how a custom resource becomes an Application.
//
// A Template is pure: it renders manifests and an observer schema from the custom
// resource, and its status from the Application and the live objects. The loop
// around it, which reads and writes, is in package controller; there is one engine
// for all objects, and a template adds no second way to write them. How to make
// one is in docs/templates.md.
//
//	schema := template.Observe(manifest, "spec.accessModes")
package template
