// Package source turns the template or archive of an Application into manifests. It gets the data (inline,
// from a URL, or from a ConfigMap or Secret) and the inputs, and translates them. Its access to the cluster
// and the network is passed in.
//
//	material, problem := source.Gather(ctx, app, reader, fetcher, nil)
//	if problem == nil {
//		translated := source.Translate(ctx, material, fetcher, hooks)
//	}
//
// Source: docs/tosca.md, "In an Application".
package source
