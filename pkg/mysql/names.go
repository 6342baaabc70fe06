package mysql

import (
	"fmt"
	"maps"
)

// Port of the server and of its Services.
const port = 3306

// User that clients are: it has all rights on the database of the spec.
const user = "app"

// The StatefulSet, the Service of clients and the Secret have the Mysql's own
// name.
func (d *database) headlessName() string { return d.name + "-headless" }
func (d *database) configName() string   { return d.name + "-config" }
func (d *database) volumeName() string   { return d.name + "-data" }

// host is the name by which clients of every namespace reach the server.
func (d *database) host() string {
	if d.namespace == "" {
		return d.name // only in a file that names no namespace
	}
	return fmt.Sprintf("%s.%s.svc", d.name, d.namespace)
}

// selector finds the Pod, whatever its version is.
func (d *database) selector() values {
	return values{"app.kubernetes.io/name": "mysql", "app.kubernetes.io/instance": d.name}
}

// labels are those that Kubernetes recommends.
func (d *database) labels() values {
	labels := d.selector()
	maps.Copy(labels, values{
		"app.kubernetes.io/version":    d.spec.Version,
		"app.kubernetes.io/component":  "database",
		"app.kubernetes.io/managed-by": "holdfast",
	})
	return labels
}

// object is the beginning of every manifest.
func (d *database) object(apiVersion, kind, name string, rest values) values {
	metadata := values{"name": name, "labels": d.labels()}
	if d.namespace != "" {
		metadata["namespace"] = d.namespace
	}
	manifest := values{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
	maps.Copy(manifest, rest)
	return manifest
}
