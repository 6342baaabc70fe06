package manifest

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
	kyaml "sigs.k8s.io/yaml"
)

// kubectl converts YAML to JSON with sigs.k8s.io/yaml and decodes that.
func readAsKubectl(t require.TestingT, text string) any {
	raw, err := kyaml.YAMLToJSONStrict([]byte(text))
	require.NoError(t, err)
	value, err := DecodeJSON(raw)
	require.NoError(t, err)
	return value["v"]
}

func readValue(t require.TestingT, text string) any {
	documents, err := Read("", []byte(text))
	require.NoError(t, err, "%q", text)
	require.Len(t, documents, 1)
	return documents[0].Value["v"]
}

func TestScalarsMatchKubectl(t *testing.T) {
	scalars := []string{
		"true", "True", "TRUE", "tRUE", "false", "False", "FALSE",
		"yes", "Yes", "YES", "yEs", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF", "y", "Y", "n", "N", "nope",
		"", "~", "null", "Null", "NULL", "nULL", "~x",
		"0", "-0", "+0", "12", "+12", "-12", "1_000", "_1", "1_", "0644", "0o644", "-0644", "08", "09.5", "0x1F", "0X1f", "-0x1F", "0b101",
		"0B11", "-0b11", "0x", "0b2", "9223372036854775807", "-9223372036854775808", "0x7fffffffffffffff",
		"1.0", "1.", ".5", "-.5", "1.5", "1e3", "1E3", "1e-3", "1.5e300", "1e19", "-1e19", "6.02e23", "1_0.5", "0.1e1", "-0.0", "1e400", "1.2.3",
		"12:30:45", "1:30", "2001-12-14", "2001-12-14T21:59:43Z", "2001-12-14 21:59:43", "2001-13-45",
		"10m", "1Gi", "100%", "1e3Mi", "v1", "a b", "<<", "=", ".", "..", "--", "+", "nan", "inf", "NaN", "Infinity", "0x10000000000000000",
		`"yes"`, `'12'`, `"0644"`, `"null"`, `""`, `"\u00e9\n"`, "|\n  yes\n", ">\n  12\n",
		"!!str 12", "!!str yes", "!!str", `!!int "12"`, "!!int 0644", "!!float 1", "!!float 1.5", `!!bool "yes"`, "!!bool true", `!!null ""`, "!!null ~",
		"!!timestamp 2001-12-14", "!<tag:yaml.org,2002:int> 3",
	}
	for _, scalar := range scalars {
		t.Run(strconv.Quote(scalar), func(t *testing.T) {
			text := "v: " + scalar + "\n"
			assert.Equal(t, readAsKubectl(t, text), readValue(t, text))
		})
	}
}

func TestAnyPlainScalarMatchesKubectl(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := "v: " + rapid.StringMatching(`[-+]?(0[xXobO]?)?[0-9_a-fA-F]{0,16}\.?[0-9_]{0,5}([eE][-+]?[0-9]{1,2})?`).Draw(t, "scalar") + "\n"
		raw, err := kyaml.YAMLToJSONStrict([]byte(text))
		if err != nil {
			t.Skip("not YAML: another draw") // discards the draw, not the test
		}
		documents, err := Read("", []byte(text))
		if err != nil {
			assert.Contains(t, err.Error(), errTooLarge.Error())
			return
		}
		value, err := DecodeJSON(raw)
		require.NoError(t, err)
		require.Equal(t, value, documents[0].Value)
	})
}

func TestLossyScalarsAreRejected(t *testing.T) {
	rows := []struct{ name, scalar, want string }{
		{"one more than int64", "9223372036854775808", errTooLarge.Error()},
		{"one less than int64", "-9223372036854775809", errTooLarge.Error()},
		{"the largest uint64", "18446744073709551615", errTooLarge.Error()},
		{"more than uint64", "123456789012345678901234567890", errTooLarge.Error()},
		{"a hexadecimal uint64", "0xffffffffffffffff", errTooLarge.Error()},
		{"not a number", ".nan", errNotFinite.Error()},
		{"infinity", ".inf", errNotFinite.Error()},
		{"minus infinity", "-.Inf", errNotFinite.Error()},
		{"a binary value", "!!binary aGk=", errBinary.Error()},
		{"a tag of one's own", "!vault secret", `the tag "!vault" is not supported: Kubernetes has no custom YAML types`},
		{"a set", "!!set {a}", `the tag "!!set" is not supported: Kubernetes has no custom YAML types`},
		{"an ordered map", "!!omap [a: 1]", `the tag "!!omap" is not supported: Kubernetes has no custom YAML types`},
		{"a list that is tagged a map", "!!map [a]", errTagFormat.Error()},
		{"a map that is tagged text", "!!str {a: b}", errTagFormat.Error()},
		{"text that is tagged a list", "!!seq a", errTagFormat.Error()},
		{"an integer that is none", "!!int twelve", errTagFormat.Error()},
		{"a boolean that is none", "!!bool 1", errTagFormat.Error()},
		{"a null that is none", "!!null x", errTagFormat.Error()},
		{"a float that is none", "!!float yes", errTagFormat.Error()},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			_, err := Read("a.yaml", []byte("v: "+row.scalar+"\n"))
			assert.EqualError(t, err, "a.yaml:1:4: "+row.want)
		})
	}
}
