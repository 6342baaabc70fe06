// Package manifests tests the files below deploy with the libraries of their users: Helm and Prometheus. It
// is a separate module because the product does not need these libraries. Tests in deploy check the
// manifests with a cluster.
//
// The directory image builds the image of the controller. The module also provides two programs:
//
//	go tool kustomize build ../../deploy/default   # deploy/install.yaml
//	go run ./sbom -o BILL PROGRAM                  # make sbom
package manifests
