package controlplane

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
)

// ports of the components on the loopback interface.
type ports struct {
	Etcd, EtcdPeer, APIServer, ControllerManager, Scheduler int
}

func (p *ports) each() []*int {
	return []*int{&p.Etcd, &p.EtcdPeer, &p.APIServer, &p.ControllerManager, &p.Scheduler}
}

func address(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// Ports are chosen below the range of source ports for outgoing connections. Otherwise a client that dials
// a killed API server could get the same port as its source port, connect to itself, and prevent the server
// from restarting.
const (
	lowestPort  = 16000
	highestPort = 30000
	portBlock   = 8
)

// choosePorts returns the ports of the last run if all of them are free, so that a kubeconfig remains valid,
// and new ones otherwise.
//
// The search starts at a position that depends on the process, so that control planes that start at the
// same time do not choose the same port before either of them listens on it.
func (d directory) choosePorts() (ports, error) {
	var p ports
	if d.readJSON("ports.json", &p) == nil && p.free() {
		return p, nil
	}
	next := lowestPort + os.Getpid()*portBlock%(highestPort-lowestPort)
	for _, port := range p.each() {
		found, err := freePort(next)
		if err != nil {
			return ports{}, err
		}
		*port, next = found, found+1
	}
	return p, d.writeJSON("ports.json", p)
}

func (p ports) free() bool {
	for _, port := range p.each() {
		if !bindable(*port) {
			return false
		}
	}
	return true
}

func freePort(from int) (int, error) {
	const span = highestPort - lowestPort
	for i := range span {
		port := lowestPort + (from-lowestPort+i)%span
		if bindable(port) {
			return port, nil
		}
	}
	return 0, errors.New("no free port between " + fmt.Sprint(lowestPort, " and ", highestPort))
}

func bindable(port int) bool {
	if port == 0 {
		return false
	}
	listener, err := net.Listen("tcp", address(port))
	if err != nil {
		return false
	}
	return listener.Close() == nil
}
