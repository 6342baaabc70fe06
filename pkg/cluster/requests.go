package cluster

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

// apiPath returns the URL path of a group and version.
func apiPath(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "/api/" + gv.Version
	}
	return "/apis/" + gv.String()
}

// inNamespace returns a resource in a namespace, or in all of them if it is empty.
func inNamespace(client dynamic.NamespaceableResourceInterface, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return client
	}
	return client.Namespace(namespace)
}

// rawJSON returns the body of a response. Unlike Raw, Error reads the API server's message from the body.
func rawJSON(result rest.Result) ([]byte, error) {
	if err := result.Error(); err != nil {
		return nil, err
	}
	return result.Raw()
}

// notFoundIsNone returns nil for a NotFound error, and other errors unchanged.
func notFoundIsNone(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
