package terminal

import (
	"fmt"

	"github.com/spf13/pflag"
)

// Style is the way in which a terminal shows a text: the parameters of an SGR sequence (ECMA-48).
type Style string

// The styles of texts. Each has one meaning in all commands.
const (
	// Green is in sync, healthy or desired; Red is a value or an object that is removed. Yellow is drift, or in progress.
	// Purple needs the user, for example a blocked correction. Dim is for details.
	Plain  Style = ""
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "31"
	Green  Style = "32"
	Yellow Style = "33"
	Purple Style = "35"
	Cyan   Style = "36"
)

// Palette is the choice between output with and without colors. The zero value has no colors.
type Palette struct{ on bool }

// PaletteFor returns the palette for a value of --color. The value auto uses colors only on a terminal that
// supports them, unless the user has set NO_COLOR. It returns an error for an unknown value.
//
//	--color  output      NO_COLOR  TERM      colors
//	always   any         any       any       yes
//	never    any         any       any       no
//	auto     terminal    unset     not dumb  yes
//	auto     terminal    set       any       no
//	auto     a pipe      any       any       no
func PaletteFor(color string, streams Streams) (Palette, error) {
	switch color {
	case "always":
		return Palette{true}, nil
	case "never":
		return Palette{}, nil
	case "auto":
		_, isTerminal := File(streams.Out)
		return Palette{isTerminal && streams.Getenv("NO_COLOR") == "" && streams.Getenv("TERM") != "dumb"}, nil
	default:
		return Palette{}, fmt.Errorf("invalid color mode %q: --color must be auto, always or never", color)
	}
}

// Paint returns a text in a style, or unchanged if colors are off. The text must have its final width: the sequences
// have none, but Length would count them.
func (p Palette) Paint(s Style, text string) string {
	if !p.on || text == "" || s == Plain {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// AddColor adds --color. PaletteFor validates the value when the options are parsed.
func AddColor(flags *pflag.FlagSet, color *string) {
	flags.StringVar(color, "color", "auto", "`auto|always|never`: use colors; auto: on a terminal, unless NO_COLOR is set")
}

// AddShowSecrets adds --show-secrets.
func AddShowSecrets(flags *pflag.FlagSet, show *bool) {
	flags.BoolVar(show, "show-secrets", false, "show values of Secrets that you may read")
}
