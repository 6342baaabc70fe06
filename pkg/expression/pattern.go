package expression

import (
	"fmt"
	"regexp/syntax"
)

// Limits of a pattern: its length, the size of its program, and the steps for one value.
const (
	maxText         = 4096
	maxPatternSize  = 5000
	maxPatternSteps = 20_000_000
)

// CheckPattern returns an error for an invalid or too large pattern. It does not compile the pattern,
// because a hundred bytes can expand to a program of many megabytes.
func CheckPattern(text string) error {
	_, err := patternSize(text)
	return err
}

// patternSize returns the approximate number of instructions of a pattern, or the error of CheckPattern.
func patternSize(text string) (int, error) {
	if len(text) > maxText {
		return 0, fmt.Errorf("has %d bytes, but a pattern may have %d", len(text), maxText)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0, fmt.Errorf("is not a regular expression: %w", err)
	}
	size := programSize(parsed)
	if size > maxPatternSize {
		return 0, fmt.Errorf("compiles to more than %d steps: use fewer repetitions", maxPatternSize)
	}
	return size, nil
}

// programSize returns the approximate number of instructions of an expression. Above maxPatternSize it can
// stop counting.
func programSize(re *syntax.Regexp) int {
	size := 1
	if re.Op == syntax.OpLiteral {
		size = len(re.Rune)
	}
	for _, sub := range re.Sub {
		size = min(size+programSize(sub), maxPatternSize+1)
	}
	// The compiler copies the repeated expression. For no upper limit, Max is -1.
	if re.Op == syntax.OpRepeat {
		size *= max(re.Min, re.Max, 1)
	}
	return min(size, maxPatternSize+1)
}

// Whole returns a pattern that matches only entire values. text must be valid: see CheckPattern.
func Whole(text string) string {
	whole := `\A(?:` + text + `)\z`
	if _, err := syntax.Parse(whole, syntax.Perl); err != nil {
		return `\A(?:` + text + `\E)\z` // the text ends within a quotation that \Q begins
	}
	return whole
}
