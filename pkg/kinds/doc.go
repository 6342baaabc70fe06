// Package kinds provides the list types of a kind's schema: which lists have keys, which are sets, and which are
// atomic. It also provides the known fields and defaults, as far as the schema defines them.
//
// The schemas of the built-in kinds come from a small table that tools/listtypes generates from client-go
// (builtin.json). They are available offline and without importing client-go. The schema of every other kind is read
// from the API server: from the OpenAPI document of its group and version, or from its CustomResourceDefinition.
//
// The package does not know whether a kind exists, is served, or is namespaced, and it does not validate objects. A
// missing node means that nothing is known, never that a field does not exist: only Node.Forbids reports that.
//
//	service := kinds.Builtin(schema.GroupVersionKind{Version: "v1", Kind: "Service"})
//	ports := service.Field("spec").Field("ports")
//	fmt.Println(ports.List, ports.Keys, ports.Defaults)
//	// Output: map [port protocol] map[protocol:TCP]
package kinds
