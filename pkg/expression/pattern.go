package expression

import (
	"fmt"
	"regexp"
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
	_, _, err := parsePattern(text)
	return err
}

// parsePattern returns a pattern and its approximate number of instructions, or the error of CheckPattern.
func parsePattern(text string) (*syntax.Regexp, int, error) {
	if len(text) > maxText {
		return nil, 0, fmt.Errorf("has %d bytes, but a pattern may have %d", len(text), maxText)
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, 0, fmt.Errorf("is not a regular expression: %w", err)
	}
	size := programSize(parsed)
	if size > maxPatternSize {
		return nil, 0, fmt.Errorf("compiles to more than %d steps: use fewer repetitions", maxPatternSize)
	}
	return parsed, size, nil
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

// Matches reports whether a pattern matches the entire value. It returns false for patterns that
// CheckPattern rejects, and if matching the value would take too many steps.
func Matches(pattern, value string) bool {
	compiled := patterns.get(pattern, compilePattern)
	return compiled != nil && len(value)*compiled.size <= maxPatternSteps && compiled.MatchString(value)
}

// compiledPattern is a pattern that matches entire values.
type compiledPattern struct {
	*regexp.Regexp
	// size is the approximate number of instructions, by which the steps for a value are estimated.
	size int
}

var patterns cache[*compiledPattern]

// compilePattern returns nil for an invalid pattern. The cache keeps the nil, so that the pattern is checked once.
func compilePattern(text string) *compiledPattern {
	parsed, size, err := parsePattern(text)
	if err != nil {
		return nil
	}
	// The parsed pattern, because the text can end within a quotation that \Q begins.
	re, err := regexp.Compile(`\A(?:` + parsed.String() + `)\z`)
	if err != nil {
		return nil
	}
	return &compiledPattern{re, size}
}
