// Package source turns the template or archive of an Application into manifests. It gets the data (inline, from a
// URL, or from a ConfigMap or Secret) and the inputs, and translates them. Its access to the cluster and the network
// is passed in.
//
// It keeps no translations: the controller decides when to gather and translate again. Only the number of
// translations at a time is limited for the whole process. Digests contain no values of Secrets.
//
//	material, problem := source.Gather(ctx, app, reader, fetcher, nil)
//	if problem == nil {
//		translated := source.Translate(ctx, material, fetcher, hooks)
//	}
//
// Source: docs/tosca.md, "In an Application".
package source
