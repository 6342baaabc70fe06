// Package tosca translates TOSCA templates and CSAR archives into manifests.
//
// It is pure: bytes and values in, objects out. It reads no file and no network;
// what a template imports and its archive does not have, a Resolver reads, which
// decides what may be read. Everything is bounded: the limits are in Limits.
// Every mistake is an *Error with file, line, column, path and a stable code.
//
// What is supported, and where it differs from other tools, is written down in
// docs/tosca.md.
//
//	source := tosca.Source{Name: "shop.yaml", Data: data}
//	result, err := tosca.Translate(ctx, source, inputs, tosca.Options{})
//	for _, object := range result.Objects {
//		fmt.Println(object["kind"])
//	}
package tosca
