package testcluster

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// AuditWebhook configures the API server to send audit events to a server.
type AuditWebhook struct {
	// Policy is an audit policy of audit.k8s.io/v1. It also applies to the audit log, and therefore to
	// Requests.
	Policy string
	// Kubeconfig contains the address of the server, and the credentials for it.
	Kubeconfig string
	// Wait is the maximum time for collecting a batch of events.
	Wait time.Duration
}

// arguments writes the files to a new directory and returns the arguments of the API server. Failed batches
// are retried soon.
func (w AuditWebhook) arguments() (dir string, args []string, err error) {
	if dir, err = os.MkdirTemp("", "holdfast-audit-"); err != nil {
		return "", nil, err
	}
	for flag, text := range map[string]string{"audit-policy-file": w.Policy, "audit-webhook-config-file": w.Kubeconfig} {
		path := filepath.Join(dir, flag+".yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return dir, nil, err
		}
		args = append(args, "--apiserver-arg=--"+flag+"="+path)
	}
	return dir, append(args, fmt.Sprintf("--apiserver-arg=--audit-webhook-batch-max-wait=%v", w.Wait),
		"--apiserver-arg=--audit-webhook-initial-backoff=50ms"), nil
}
