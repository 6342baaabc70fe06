package mysql

// image is the official image.
const image = "docker.io/library/mysql"

// containerName is the name of the container with the server.
const containerName = "mysql"

// AnnotationChecksum is an annotation of the Pod. It changes with the files that the server reads when it starts.
const AnnotationChecksum = "fnjoin.com/configuration-checksum"

// statefulSet returns the StatefulSet. It runs one Pod, and never two on the same volume.
func (d *database) statefulSet() values {
	return d.object("apps/v1", "StatefulSet", d.name, values{"spec": values{
		"replicas":    int64(1),
		"serviceName": d.headlessName(),
		// With OrderedReady, a Pod that never becomes ready because of a wrong configuration would not be
		// replaced when the configuration is fixed; a user would have to delete it.
		"podManagementPolicy": "Parallel",
		"updateStrategy":      values{"type": "RollingUpdate"},
		"selector":            values{"matchLabels": d.selector()},
		"template": values{
			"metadata": values{"labels": d.labels(), "annotations": values{AnnotationChecksum: d.checksum()}},
			"spec":     d.pod(),
		},
	}})
}

// pod meets the Pod Security Standard "restricted". 999 is the user ID in the image. The grace period of two minutes is
// for InnoDB, which writes its buffer pool when it stops. emptyDir run is in memory, so the client.cnf with the
// password is on no disk.
func (d *database) pod() values {
	return values{
		"automountServiceAccountToken":  false,
		"enableServiceLinks":            false, // otherwise a Service named mysql would set MYSQL_HOST
		"terminationGracePeriodSeconds": int64(120),
		"securityContext": values{
			"runAsNonRoot": true, "runAsUser": int64(999), "runAsGroup": int64(999),
			"fsGroup": int64(999), "fsGroupChangePolicy": "OnRootMismatch",
			"seccompProfile": values{"type": "RuntimeDefault"},
		},
		"containers": list{d.container()},
		"volumes": list{
			values{"name": "data", "persistentVolumeClaim": values{"claimName": d.volumeName()}},
			values{"name": "config", "configMap": values{"name": d.configName()}},
			values{"name": "credentials", "secret": values{"secretName": d.name, "defaultMode": int64(0o440)}},
			values{"name": "run", "emptyDir": values{"medium": "Memory", "sizeLimit": "1Mi"}},
			values{"name": "tmp", "emptyDir": values{}},
		},
	}
}

// Directories in the container.
const (
	configDirectory      = "/etc/holdfast/mysql"
	credentialsDirectory = "/run/credentials"
	runDirectory         = "/run/mysqld" // where clients of the image look for the socket
	dataDirectory        = "/var/lib/mysql"
)

// container returns the container with the server. The paths of the directories are arguments of the scripts, so that
// the scripts contain none.
func (d *database) container() values {
	size := values{"cpu": d.spec.CPU, "memory": d.spec.Memory}
	return values{
		"name":    containerName,
		"image":   image + ":" + d.spec.Version,
		"command": list{"bash", configDirectory + "/" + startFile, configDirectory, credentialsDirectory, runDirectory, dataDirectory},
		"ports":   list{values{"name": "mysql", "containerPort": int64(port), "protocol": "TCP"}},
		// Equal requests and limits give the Pod the QoS class Guaranteed, which is evicted last.
		"resources": values{"requests": size, "limits": size},
		"securityContext": values{
			"allowPrivilegeEscalation": false,
			"readOnlyRootFilesystem":   true,
			"capabilities":             values{"drop": list{"ALL"}},
		},
		// It takes up to one hour, for the first start or the recovery after a crash. It connects through the network,
		// because the server does not listen there while it initializes its data.
		"startupProbe":   probe(list{"mysqladmin", "--defaults-file=" + runDirectory + "/client.cnf", "ping"}, 5, 720),
		"livenessProbe":  probe(list{"bash", configDirectory + "/" + aliveFile, credentialsDirectory, runDirectory}, 10, 6),
		"readinessProbe": probe(list{"bash", configDirectory + "/" + readyFile, credentialsDirectory, runDirectory}, 5, 3),
		"volumeMounts": list{
			values{"name": "data", "mountPath": dataDirectory},
			values{"name": "config", "mountPath": configDirectory, "readOnly": true},
			values{"name": "credentials", "mountPath": credentialsDirectory, "readOnly": true},
			values{"name": "run", "mountPath": runDirectory},
			values{"name": "tmp", "mountPath": "/tmp"},
		},
	}
}

// probe returns a probe that runs a command. period is in seconds. failures is the number of consecutive failures after
// which the probe has failed. A command may take five seconds, because the server can be busy.
func probe(command list, period, failures int64) values {
	return values{
		"exec":          values{"command": command},
		"periodSeconds": period, "timeoutSeconds": int64(5), "failureThreshold": failures,
	}
}
