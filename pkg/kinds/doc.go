// Package kinds knows which lists of a kind have keys, which are sets, and
// which have only an order.
//
// The built-in kinds come from a small table that is generated from client-go
// (builtin.json, by tools/listtypes), so that they are known offline and
// without importing client-go. Every other kind is read from what its API
// server says: the OpenAPI document of its group and version, or its
// CustomResourceDefinition.
//
// It does not know whether a kind exists, is served, or is namespaced, and it
// does not validate anything.
//
//	service := kinds.Builtin(schema.GroupVersionKind{Version: "v1", Kind: "Service"})
//	ports := service.Field("spec").Field("ports")
//	fmt.Println(ports.List, ports.Keys, ports.Defaults)
//	// Output: map [port protocol] map[protocol:TCP]
package kinds
