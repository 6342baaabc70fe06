package controlplane

import (
	"context"
	"fmt"
)

// Names of the components, as used in file names and commands.
const (
	Etcd              = "etcd"
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Node              = "node"
)

// component is one process to run.
type component struct {
	name string
	// argv is the entire command line.
	argv []string
	// probe returns nil once the component can be used.
	probe func(context.Context) error
}

// stages returns the components in the order of their start. Components in the same stage start
// concurrently.
func (s *supervisor) stages() [][]component {
	stages := [][]component{{s.etcd()}, {s.apiServer()}}
	var rest []component
	if s.options.ControllerManager {
		rest = append(rest, s.controllerManager())
	}
	if s.options.Node {
		rest = append(rest, s.scheduler(), s.node())
	}
	return append(stages, rest)
}

func (s *supervisor) etcd() component {
	client, peer := "http://"+address(s.ports.Etcd), "http://"+address(s.ports.EtcdPeer)
	return component{
		name: Etcd,
		argv: append([]string{s.executable, Etcd,
			"--data-dir=" + s.dir.path("etcd"),
			"--listen-client-urls=" + client,
			"--advertise-client-urls=" + client,
			"--listen-peer-urls=" + peer,
			"--initial-advertise-peer-urls=" + peer,
			"--initial-cluster=default=" + peer,
			// Tests kill processes, not machines: data that was written to a file survives.
			"--unsafe-no-fsync",
			// A single member need not wait for others before it elects itself.
			"--heartbeat-interval=10",
			"--election-timeout=100",
		}, s.options.EtcdArgs...),
		probe: s.probe.get(client + "/readyz"),
	}
}

func (s *supervisor) apiServer() component {
	argv := []string{s.executable, APIServer,
		"--etcd-servers=http://" + address(s.ports.Etcd),
		"--bind-address=127.0.0.1",
		fmt.Sprint("--secure-port=", s.ports.APIServer),
		// No client uses the Service "kubernetes". Without this flag the API server looks for a network
		// interface with a default route, and fails offline.
		"--advertise-address=127.0.0.1",
		"--endpoint-reconciler-type=none",
		"--service-cluster-ip-range=10.0.0.0/16",
		"--cert-dir=" + s.dir.path("pki"),
		"--tls-cert-file=" + s.dir.path("pki", "server.crt"),
		"--tls-private-key-file=" + s.dir.path("pki", "server.key"),
		"--token-auth-file=" + s.dir.path("pki", "users.csv"),
		"--authorization-mode=RBAC",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + s.dir.path("pki", "service-account.key"),
		"--service-account-signing-key-file=" + s.dir.path("pki", "service-account.key"),
		"--allow-privileged=true",
	}
	if s.options.Audit {
		argv = append(argv,
			"--audit-policy-file="+s.dir.path("audit-policy.yaml"),
			"--audit-log-path="+s.dir.path("audit.log"),
			// Blocking: a response ends after its line has been written to the file.
			"--audit-log-mode=blocking",
			// Never rotated during a run, because readers remember offsets.
			"--audit-log-maxsize=100000",
		)
	}
	return component{
		name:  APIServer,
		argv:  append(argv, s.options.APIServerArgs...),
		probe: s.probe.get("https://" + address(s.ports.APIServer) + "/readyz"),
	}
}

// auditPolicy records every request once, when it is complete. Therefore a watch is recorded when it ends.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: Metadata
`

func (s *supervisor) controllerManager() component {
	health := address(s.ports.ControllerManager)
	running := s.probe.get("http://" + health + "/healthz")
	// It is ready once it has created an object.
	working := s.probe.get("https://" + address(s.ports.APIServer) + "/api/v1/namespaces/default/serviceaccounts/default")
	return component{
		name: ControllerManager,
		argv: []string{s.executable, ControllerManager,
			"--kubeconfig=" + s.dir.kubeconfig(),
			"--root-ca-file=" + s.dir.path("pki", "ca.crt"),
			"--healthz-address=" + health,
		},
		probe: func(ctx context.Context) error {
			if err := running(ctx); err != nil {
				return err
			}
			return working(ctx)
		},
	}
}

func (s *supervisor) scheduler() component {
	return component{
		name: Scheduler,
		argv: []string{s.executable, Scheduler,
			"--kubeconfig=" + s.dir.kubeconfig(),
			"--authentication-kubeconfig=" + s.dir.kubeconfig(),
			"--authorization-kubeconfig=" + s.dir.kubeconfig(),
			"--authentication-skip-lookup=true",
			"--leader-elect=false",
			"--bind-address=127.0.0.1",
			fmt.Sprint("--secure-port=", s.ports.Scheduler),
			"--tls-cert-file=" + s.dir.path("pki", "server.crt"),
			"--tls-private-key-file=" + s.dir.path("pki", "server.key"),
		},
		probe: s.probe.get("https://" + address(s.ports.Scheduler) + "/readyz"),
	}
}

func (s *supervisor) node() component {
	return component{
		name:  Node,
		argv:  []string{s.executable, Node, "--kubeconfig=" + s.dir.kubeconfig()},
		probe: s.nodeIsReady,
	}
}
