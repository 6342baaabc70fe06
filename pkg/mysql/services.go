package mysql

// clientService is the address that clients use.
func (d *database) clientService() values {
	return d.object("v1", "Service", d.name, values{"spec": values{
		"type":     "ClusterIP",
		"selector": d.selector(),
		"ports":    servicePorts(),
	}})
}

// headlessService gives the Pod its name in DNS, also while it is not ready: who
// repairs a server has to reach it.
func (d *database) headlessService() values {
	return d.object("v1", "Service", d.headlessName(), values{"spec": values{
		"clusterIP":                "None",
		"publishNotReadyAddresses": true,
		"selector":                 d.selector(),
		"ports":                    servicePorts(),
	}})
}

func servicePorts() list {
	return list{values{"name": "mysql", "port": int64(port), "protocol": "TCP", "targetPort": "mysql"}}
}
