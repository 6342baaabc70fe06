package cli

import "fmt"

// style is how a terminal shows a text (ECMA-48, SGR).
type style string

const (
	bold   style = "1"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
	purple style = "35"
)

// palette paints, or leaves everything as it is.
type palette struct{ on bool }

// paletteFor is the palette that --color asks for: auto is on only on a
// terminal that knows colours, and for people who did not switch them off.
func paletteFor(color string, streams Streams) (palette, error) {
	switch color {
	case "always":
		return palette{true}, nil
	case "never":
		return palette{}, nil
	case "auto":
		_, isTerminal := terminal(streams.Out)
		return palette{isTerminal && streams.Getenv("NO_COLOR") == "" && streams.Getenv("TERM") != "dumb"}, nil
	default:
		return palette{}, fmt.Errorf("there is no colour mode %q: --color takes auto, always or never", color)
	}
}

func (p palette) paint(s style, text string) string {
	if !p.on || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}
