package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
)

// Printer is a function that writes values for programs, one document for each. If one value fails, it writes none.
// A reader of the output therefore never gets a part of it, for example if one of several Applications fails.
type Printer func(w io.Writer, values ...any) error

// PrinterFor returns the printer for a value of -o. more are the other formats of the command. The error for an
// unknown format names more, too, but the caller handles those formats itself.
func PrinterFor(output string, more ...string) (Printer, error) {
	switch output {
	case "yaml":
		return PrintYAML, nil
	case "json":
		return PrintJSON, nil
	default:
		return nil, NoFormat(output, append([]string{"yaml", "json"}, more...)...)
	}
}

// OptionalPrinter returns the printer for a value of -o, or nil without a value: the command then prints text.
func OptionalPrinter(output string, more ...string) (Printer, error) {
	if output == "" {
		return nil, nil //nolint:nilnil // text is no format for programs
	}
	return PrinterFor(output, more...)
}

// NoFormat returns an error for an unknown value of -o, with the known ones. There must be at least two.
//
//	NoFormat("yml", "yaml", "json")  invalid output format "yml": -o must be yaml or json
func NoFormat(output string, formats ...string) error {
	last := len(formats) - 1
	return fmt.Errorf("invalid output format %q: -o must be %s or %s", output, strings.Join(formats[:last], ", "), formats[last])
}

// ObjectPrinter returns kubectl's printer for -o. more are formats that the command prints itself; they are
// listed in the error for an unknown format.
func ObjectPrinter(output string, more ...string) (printers.ResourcePrinter, error) {
	flags := genericclioptions.NewPrintFlags("")
	flags.OutputFormat = &output
	printer, err := flags.ToPrinter()
	if genericclioptions.IsNoCompatiblePrinterError(err) {
		return nil, NoFormat(output, append(more, "yaml", "json", "name", "jsonpath=PATH", "go-template=TEXT")...)
	}
	return printer, err
}

// PrintJSON prints values as indented JSON. It does not escape characters for HTML, because users read the output.
// Several values follow each other without a separator, as jq and json.Decoder read them.
func PrintJSON(w io.Writer, values ...any) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	for _, value := range values {
		if err := encoder.Encode(value); err != nil {
			return fmt.Errorf("writing JSON: %w", err)
		}
	}
	return Write(w, b.Bytes())
}

// PrintYAML prints values as YAML documents with --- between them. Unlike PrintObjects, it uses the yaml tags and
// the field order of Go structs.
func PrintYAML(w io.Writer, values ...any) error {
	var b bytes.Buffer
	for i, value := range values {
		if i > 0 {
			b.WriteString("---\n")
		}
		document, err := EncodeYAML(value)
		if err != nil {
			return fmt.Errorf("writing YAML: %w", err)
		}
		b.Write(document)
	}
	return Write(w, b.Bytes())
}

// EncodeYAML returns a value as a YAML document in the notation of all output, with a line break at the end. The golden
// files of plans have the same notation.
func EncodeYAML(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return b.Bytes(), encoder.Close()
}

// WriteLines writes lines at once, with line breaks. An empty list writes an empty line.
func WriteLines(w io.Writer, lines []string) error {
	return Write(w, []byte(strings.Join(lines, "\n")+"\n"))
}

// Write writes a whole text at once, with an error for users. A reader of a pipe then gets complete lines.
func Write(w io.Writer, text []byte) error {
	if _, err := w.Write(text); err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	return nil
}
