// Package manifests tests what is below deploy, with the libraries that read it
// where it is used: Helm and Prometheus. They are in a module of
// their own because the product needs none of them. What a cluster says of the
// manifests is tested beside them.
//
// The folder image makes the image of the controller. Two programs are built from this
// module besides:
//
//	go tool kustomize build ../../deploy/default   # deploy/install.yaml
//	go tool cyclonedx-gomod bin …                  # make sbom
package manifests
