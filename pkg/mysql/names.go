package mysql

import (
	"fmt"
	"maps"
)

// Port of the server and of its Services.
const port = 3306

// User is the MySQL user for clients. It has all privileges on the database of the spec.
const user = "app"

// identity is the name of a Mysql. It determines the names of its objects.
type identity struct{ name, namespace string }

// The StatefulSet, the client Service and the Secret have the name of the Mysql.
func (i identity) headlessName() string { return i.name + "-headless" }
func (i identity) configName() string   { return i.name + "-config" }
func (i identity) volumeName() string   { return i.name + "-data" }

// host returns the name by which clients in any namespace reach the server. For example, shop.default.svc. The domain
// of the cluster is omitted, because the template does not know it.
func (i identity) host() string {
	if i.namespace == "" {
		return i.name // only in a file without a namespace
	}
	return fmt.Sprintf("%s.%s.svc", i.name, i.namespace)
}

// selector selects the Pod regardless of its version. It must never change, because the selector of a StatefulSet is
// immutable.
func (i identity) selector() values {
	return values{"app.kubernetes.io/name": "mysql", "app.kubernetes.io/instance": i.name}
}

// versionLabel is the label with the version in the spec.
const versionLabel = "app.kubernetes.io/version"

// labels returns the labels that Kubernetes recommends.
func (d *database) labels() values {
	labels := d.selector()
	maps.Copy(labels, values{
		versionLabel:                   d.spec.Version,
		"app.kubernetes.io/component":  "database",
		"app.kubernetes.io/managed-by": "holdfast",
	})
	return labels
}

// object returns a manifest with the fields that all manifests share.
func (d *database) object(apiVersion, kind, name string, rest values) values {
	metadata := values{"name": name, "labels": d.labels()}
	if d.namespace != "" {
		metadata["namespace"] = d.namespace
	}
	manifest := values{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
	maps.Copy(manifest, rest)
	return manifest
}
