package connection

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"holdfast.dev/holdfast/internal/suggest"
)

// Explained returns an error that explains the error of an API server, with a remedy; nil for a nil error.
// The arguments verb and what name the action and its object. The result does not always wrap err, so
// callers that distinguish errors must inspect err itself.
//
//	the response or cause              the error for users
//	context canceled                   interrupted
//	403, namespace is terminating      wait for the end of its deletion
//	403                                ask for the right, or use another user
//	401                                check the credentials
//	422                                the causes, with their fields
//	connection refused, timeout, DNS   use another cluster
//	any other                          the error with the name of the object
//
// Quotas, webhooks and admission policies can respond 403, too. The text of the API server is therefore always
// printed with the remedy.
func (c *Client) Explained(err error, verb, what string) error {
	var network net.Error
	var sent *url.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return errors.New("interrupted")
	// Kubernetes rejects objects of such a namespace with 403, too.
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return fmt.Errorf("%s: its namespace is being deleted: wait until it is deleted, create it again, and repeat the command", what)
	case apierrors.IsForbidden(err):
		it := "it"
		if verb == "list" {
			it = "them"
		}
		return fmt.Errorf("%s: you may not %s %s: %w. Ask for that right, or use another --context or --as", what, verb, it, err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("%s: the API server %s did not accept your credentials: check the user in the kubeconfig, or use another --context", what, c.Config.Host)
	case apierrors.IsInvalid(err):
		return fmt.Errorf("%s: %w", what, refusalText(err))
	case errors.As(err, &sent), utilnet.IsConnectionRefused(err), errors.As(err, &network) && network.Timeout():
		// The URL of a request that was not sent does not help users.
		if sent != nil {
			err = sent.Err
		}
		return fmt.Errorf("cannot reach the API server %s: %w. To use another cluster, set --kubeconfig or --context", c.Config.Host, err)
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}

// refusalText returns the causes of a rejected request, without the preamble that repeats the name of the
// object. An error without causes is returned unchanged.
//
//	Application.holdfast.dev "web" is invalid: spec.mode: Unsupported value: "hold": supported values: "Hold", "Observe"
//	the API server rejects it: spec.mode: Unsupported value: "hold": supported values: "Hold", "Observe"
//
// The result of an error with causes does not wrap it, so apierrors.IsInvalid is false for it.
func refusalText(err error) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil || len(status.Status().Details.Causes) == 0 {
		return err
	}
	var causes []string
	for _, cause := range status.Status().Details.Causes {
		text := strings.TrimSpace(cause.Message)
		// API servers write the Go form of an empty path if no field is the cause.
		if cause.Field != "" && cause.Field != "<nil>" {
			text = cause.Field + ": " + text
		}
		causes = append(causes, text)
	}
	return fmt.Errorf("the API server rejects it: %s", strings.Join(causes, "; "))
}

// NoSuchApplication returns an error for an Application that could not be read. If it does not exist, the
// error suggests a similar name in the namespace, which costs one request. Other errors are explained.
func (c *Client) NoSuchApplication(ctx context.Context, namespace, name string, err error) error {
	if !apierrors.IsNotFound(err) {
		return c.Explained(err, "get", "Application "+namespace+"/"+name)
	}
	list, listErr := c.Own.Resource(Applications).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(listErr) {
		return ErrNotInstalled
	}
	var names []string
	if listErr == nil {
		for _, item := range list.Items {
			names = append(names, item.GetName())
		}
	}
	hint := suggest.DidYouMean(name, names)
	if hint == "" {
		hint = ": to list all namespaces, run: holdfast get -A"
	}
	return fmt.Errorf("there is no Application %q in the namespace %s%s", name, namespace, hint)
}

// ErrNotInstalled is the error if the API server does not serve Applications.
var ErrNotInstalled = errors.New("the API server does not serve Applications: is Holdfast installed? See `holdfast install --help`")
