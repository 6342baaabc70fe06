package mysql

import (
	"strconv"

	v1 "holdfast.dev/holdfast/pkg/api/mysql/v1"
	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// generated lists the keys of the Secret that are filled with 32 random characters when it is created, and are never
// changed. The controller reads the annotation, and writes the passwords only into the live Secret.
const generated = "password:32,root-password:32"

// secret contains the connection and the credentials, with the key names of the specification "Service
// Binding for Kubernetes" (servicebinding.io).
func (d *database) secret() values {
	secret := d.object("v1", "Secret", d.name, values{
		"type": "servicebinding.io/mysql",
		"stringData": values{
			"type": "mysql", "host": d.host(), "port": strconv.Itoa(port), "database": d.spec.Database, "username": user,
		},
	})
	d.annotate(secret, values{v1alpha1.AnnotationGenerate: generated, v1alpha1.AnnotationDeletionPolicy: d.dataDeletionPolicy()})
	return secret
}

// volume returns a separate claim instead of a template in the StatefulSet: claim templates are immutable,
// and this claim can grow.
func (d *database) volume() values {
	spec := values{
		"accessModes": list{"ReadWriteOnce"},
		"resources":   values{"requests": values{"storage": d.spec.Storage}},
	}
	if d.spec.StorageClassName != nil {
		spec["storageClassName"] = *d.spec.StorageClassName
	}
	volume := d.object("v1", "PersistentVolumeClaim", d.volumeName(), values{"spec": spec})
	d.annotate(volume, values{v1alpha1.AnnotationDeletionPolicy: d.dataDeletionPolicy()})
	return volume
}

// dataDeletionPolicy returns the deletion policy of the volume and of the Secret that belongs to it. Any policy except
// Delete keeps them. The Secret is kept with the volume, so that clients of the data keep their passwords.
func (d *database) dataDeletionPolicy() string {
	if d.spec.DeletionPolicy == v1.DeletionDelete {
		return string(v1alpha1.DeletionDelete)
	}
	return string(v1alpha1.DeletionOrphan)
}

// annotate sets the annotations of a manifest, which has none before.
func (d *database) annotate(manifest, annotations values) {
	metadata, _ := manifest["metadata"].(values)
	metadata["annotations"] = annotations
}
