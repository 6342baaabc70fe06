package mysql

// clientService returns the Service that clients use. Without a ready Pod it has no endpoints, so clients get an error
// at once instead of a timeout.
func (d *database) clientService() values {
	return d.object("v1", "Service", d.name, values{"spec": values{
		"type":     "ClusterIP",
		"selector": d.selector(),
		"ports":    servicePorts(),
	}})
}

// headlessService gives the Pod a DNS name even while it is not ready, so that an administrator can reach a
// broken server.
func (d *database) headlessService() values {
	return d.object("v1", "Service", d.headlessName(), values{"spec": values{
		"clusterIP":                "None",
		"publishNotReadyAddresses": true,
		"selector":                 d.selector(),
		"ports":                    servicePorts(),
	}})
}

// servicePorts returns the ports of both Services. targetPort is the name of the container's port.
func servicePorts() list {
	return list{values{"name": "mysql", "port": int64(port), "protocol": "TCP", "targetPort": "mysql"}}
}
