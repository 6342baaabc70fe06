package files

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"holdfast.dev/holdfast/pkg/manifest"
)

func TestKindsAreWrittenAsForKubectl(t *testing.T) {
	web := manifest.ID{Group: "apps", Kind: "Deployment", Namespace: "default", Name: "web"}
	policy := manifest.ID{Group: "networking.k8s.io", Kind: "NetworkPolicy", Namespace: "default", Name: "web"}
	ingress := manifest.ID{Group: "networking.k8s.io", Kind: "Ingress", Namespace: "default", Name: "web"}
	elsewhere := manifest.ID{Group: "networking.k8s.io", Kind: "Ingress", Namespace: "other", Name: "web"}
	controller := manifest.ID{Kind: "ReplicationController", Namespace: "default", Name: "web"}
	request := manifest.ID{Group: "certificates.k8s.io", Kind: "CertificateSigningRequest", Name: "web"}
	ids := []manifest.ID{web, policy, ingress, elsewhere, controller, request}
	for typed, want := range map[string]manifest.ID{
		"deployment/web": web, "Deployments/web": web, "deploy/web": web, "deployment.apps/web": web,
		"networkpolicy/web": policy, "networkpolicies/web": policy, "netpol/web": policy,
		"networkpolicies.networking.k8s.io/web": policy, "networkpolicy.networking/web": policy,
		"ingresses/default/web": ingress, "ing/other/web": elsewhere, "rc/web": controller, "csr/web": request,
	} {
		found, err := FindResource(typed, ids)
		assert.NoError(t, err, typed)
		assert.Equal(t, want, found, typed)
	}
	for typed, want := range map[string]string{
		"web":                `"web" is not KIND/NAME`,
		"deployment/":        `"deployment/" is not KIND/NAME`,
		"ingress/web":        "use ingress/default/web",
		"deployment.x/web":   "has no resource deployment.x/web",
		"deployment/weeb":    "did you mean deployment/web?",
		"deploy/default/wob": "has no resource",
	} {
		_, err := FindResource(typed, ids)
		assert.ErrorContains(t, err, want, typed)
	}
}
