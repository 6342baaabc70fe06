// Package suggest suggests names for mistyped ones.
package suggest

import (
	"fmt"
	"slices"
	"strings"
)

// DidYouMean returns a suggestion with the name that is closest to the typed one, or that starts with it.
// It returns "" if no name is close.
func DidYouMean(typed string, names []string) string {
	best, nearest := "", 1+max(2, len(typed)/3)
	for _, name := range slices.Sorted(slices.Values(names)) {
		if !strings.HasPrefix(name, typed) && max(len(name)-len(typed), len(typed)-len(name)) >= nearest {
			continue
		}
		distance := Distance(strings.ToLower(typed), strings.ToLower(name))
		if len(typed) > 2 && strings.HasPrefix(name, typed) {
			distance = 1
		}
		if distance < nearest && distance < len(name) {
			best, nearest = name, distance
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(": did you mean %s?", best)
}

// Distance returns the edit distance of a and b: the number of letters to add, remove, replace, or swap
// with their neighbor.
func Distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return len(a) + len(b) // too long to be a typing error
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			exchange := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				exchange++
			}
			rows[i][j] = min(exchange, rows[i-1][j]+1, rows[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
