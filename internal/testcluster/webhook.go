package testcluster

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// AuditWebhook has the API server send audit events to a server.
type AuditWebhook struct {
	// Policy is that of audit.k8s.io/v1. It is for the audit log, too: what it leaves out,
	// Requests does not have.
	Policy string
	// Kubeconfig names the server, and what the API server shows to it.
	Kubeconfig string
	// Wait is for how long events are collected at most.
	Wait time.Duration
}

// arguments writes the files into a directory of their own, and has the API server use
// them. What has not arrived is sent again soon.
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
