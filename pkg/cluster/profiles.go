package cluster

import (
	"context"
	"encoding/json"
	"fmt"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"holdfast.dev/holdfast/pkg/api/v1alpha1"
)

// DecodeProfile decodes a HoldProfile from JSON.
func DecodeProfile(raw []byte) (*v1alpha1.HoldProfile, error) {
	p, err := v1alpha1.DecodeProfile(raw)
	if err != nil {
		return nil, fmt.Errorf("reading a HoldProfile: %w", err)
	}
	p.ManagedFields = nil
	return p, nil
}

// ServedKinds returns all kinds that the API server serves, and the groups of aggregated API servers that do
// not respond. It sends two requests. It returns none if the API server is too old to list all kinds.
func (c *Client) ServedKinds(ctx context.Context) (all []schema.GroupVersionKind, unavailable []string, err error) {
	const accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	for _, path := range []string{"/api", "/apis"} {
		var list apidiscovery.APIGroupDiscoveryList
		raw, err := c.Discovery.RESTClient().Get().AbsPath(path).SetHeader("Accept", accept).Do(ctx).Raw()
		if err == nil {
			err = json.Unmarshal(raw, &list)
		}
		// An old API server ignores or rejects the type of the response.
		if apierrors.IsNotAcceptable(err) || err == nil && len(list.Items) == 0 {
			return nil, nil, nil
		}
		if err != nil {
			return nil, nil, fmt.Errorf("reading the served kinds: %w", err)
		}
		for _, group := range list.Items {
			for _, version := range group.Versions {
				if version.Freshness == apidiscovery.DiscoveryFreshnessStale {
					unavailable = append(unavailable, group.Name)
				}
				for _, resource := range version.Resources {
					if kind := resource.ResponseKind; kind != nil {
						all = append(all, schema.GroupVersionKind{Group: group.Name, Version: version.Version, Kind: kind.Kind})
					}
				}
			}
		}
	}
	return all, unavailable, nil
}
