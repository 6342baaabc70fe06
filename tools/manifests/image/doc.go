// Image builds the image of the controller for amd64 and arm64 without a container engine. The image
// contains only the program and the certificate authorities that Mozilla trusts. `make image` and `make
// push` run it.
//
//	go run ./image -version v1.2.3 -o ../../bin/holdfast-controller.tar
//	go run ./image -version v1.2.3 -push registry.example.com/holdfast-controller:v1.2.3
//
// The archive is an OCI image layout in a tar file, which podman, skopeo and containerd can load. The same
// sources and version give identical bytes on any machine.
package main
