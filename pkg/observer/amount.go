package observer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// compareAmounts compares two amounts: numbers and quantities with each other, because a field can be an
// int-or-string, and percentages with percentages. It returns false if one is not an amount.
//
//	a        b          result
//	1        2          -1
//	500m     0.5        0
//	1Gi      1024Mi     0
//	50%      25%        1
//	50%      5          not comparable
//	two      2          not comparable
func compareAmounts(a, b any) (int, bool) {
	x, xIsPercentage, ok := amountOf(a)
	if !ok {
		return 0, false
	}
	y, yIsPercentage, ok := amountOf(b)
	if !ok || xIsPercentage != yIsPercentage {
		return 0, false
	}
	// Two integers are compared without the conversion to quantities.
	if i, isInt := integer(a); isInt {
		if j, bothInt := integer(b); bothInt {
			return cmp.Compare(i, j), true
		}
	}
	return x.Cmp(y), true
}

// SameAmount reports whether two values are equal amounts, such as 1Gi and 1024Mi. Package delta uses it for leaves
// with the type quantity.
func SameAmount(a, b any) bool {
	order, ok := compareAmounts(a, b)
	return ok && order == 0
}

// amountForm excludes strings from the parser of quantities that are no quantities, or whose exponent would take it
// minutes. resource.ParseQuantity accepts 1e999999999, and compares it by computing a power of ten with a billion
// digits.
var amountForm = regexp.MustCompile(`^[+-]?[0-9.]{1,32}([eE][+-]?[0-9]{1,2}|[KMGTPE]i|[numkMGTPE])?$`)

// amountOf parses a number, or a string in the syntax of a quantity or a percentage. The amount of a percentage is
// the number before the sign. ok is false for all other values, and for more than 32 digits.
func amountOf(v any) (amount resource.Quantity, isPercentage, ok bool) {
	text, isText := v.(string)
	if isText {
		text, isPercentage = strings.CutSuffix(text, "%")
	} else if text, ok = numberText(v); !ok {
		return amount, false, false
	}
	if !amountForm.MatchString(text) {
		return amount, false, false
	}
	amount, err := resource.ParseQuantity(text)
	return amount, isPercentage, err == nil
}

// numberText returns a number in the syntax of a quantity. The text of a float has no exponent, so a number above 1e32
// exceeds amountForm and is no amount.
func numberText(v any) (string, bool) {
	if i, ok := integer(v); ok {
		return strconv.FormatInt(i, 10), true
	}
	if f, ok := float(v); ok {
		return strconv.FormatFloat(f, 'f', -1, 64), true
	}
	return "", false
}

// sameType returns a bound in the type of a live value, because the API server rejects a number in a text field, such
// as the data of a ConfigMap, and a text in a numeric field. A text that is no decimal number remains.
//
//	bound    live     result
//	1        "0"      "1"
//	"1"      0        1
//	1Gi      0        1Gi
func sameType(bound, live any) any {
	text, isText := bound.(string)
	_, wantsText := live.(string)
	if !isText && wantsText {
		if text, ok := numberText(bound); ok {
			return text
		}
	}
	if _, wantsNumber := numberText(live); isText && wantsNumber {
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return i
		}
	}
	return bound
}

// amountText formats a bound for messages.
func amountText(v any) string { return shorten(fmt.Sprint(v)) }

// jsonText formats a value for messages, on one line.
func jsonText(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(raw)
}
