package csar_test

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"

	"holdfast.dev/holdfast/pkg/tosca/csar"
)

func Example() {
	var data bytes.Buffer
	writer := zip.NewWriter(&data)
	file, _ := writer.Create("shop.yaml")
	fmt.Fprint(file, "tosca_definitions_version: tosca_2_0")
	_ = writer.Close()

	archive, err := csar.Open(context.Background(), data.Bytes(), csar.DefaultLimits())
	if err != nil {
		fmt.Println(err)
		return
	}
	template, err := archive.File(archive.Entry)
	fmt.Println(archive.Entry, string(template), err)
	// Output:
	// shop.yaml tosca_definitions_version: tosca_2_0 <nil>
}
