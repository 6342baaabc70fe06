// Package source makes manifests of the template or archive of an Application: it
// finds the bytes (inline, behind a URL, in a ConfigMap or Secret) and the inputs,
// and has them translated. What it needs from a cluster or network it is given.
//
//	material, problem := source.Gather(ctx, app, reader, fetcher, nil)
//	if problem == nil {
//		translated := source.Translate(ctx, material, fetcher, hooks)
//	}
//
// Source: docs/tosca.md, "In an Application".
package source
